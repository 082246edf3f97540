r"""Marks of a final answer in a response: the end of the thinking, tags, headings, and `answer:` in other languages.

English sentences that call something the answer are read by `final_answers`, which knows the words that deny or
change one. In another language only a line that begins with a marker counts, ends with a bare value, and is the last.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Marks around the thinking of a model, as its chat template writes them: Qwen, DeepSeek; Granite; Mistral; Kimi;
# Seed; gpt-oss, which names the channel of its answer.
THINKING = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<budget:thinking>", "</budget:thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
_THINKING_BEGINS = re.compile("|".join(re.escape(begin) for begin, _ in THINKING), re.IGNORECASE)
_THINKING_ENDS = re.compile("|".join(re.escape(end) for _, end in THINKING), re.IGNORECASE)

_TAG = re.compile(r"<(?P<close>/?)(?:final[_ -]?)?answer>", re.IGNORECASE)


class Language(NamedTuple):
    """The words of one language that mark an answer, as parts of a regular expression.

    `before` are words that may stand between the start of the line and the noun, such as articles; `noun` means
    "answer" or "result"; `verb` means "is".
    """

    before: str
    noun: str
    verb: str


LANGUAGES = {
    "German": Language(
        "also|daher|somit|damit|folglich|die|das|der|lautet|ist|endgültige|finale|richtige|korrekte|unsere|meine",
        "antwort|endergebnis|ergebnis|lösung|endantwort",
        "ist|lautet|beträgt",
    ),
    "French": Language("donc|ainsi|la|le|bonne|notre|ma", "réponse|résultat", "est|finale|correcte|finale est"),
    "Spanish": Language("por lo tanto|así|entonces|la|el", "respuesta|resultado", "es|final|correcta|final es"),
    "Portuguese": Language("portanto|assim|então|a|o", "resposta|resultado", "é|final|correta|final é"),
    "Italian": Language("quindi|dunque|pertanto|la|il", "risposta|risultato", "è|finale|corretta|finale è"),
    "Dutch": Language("dus|daarom|het|de|juiste|uiteindelijke", "antwoord|eindantwoord|resultaat", "is|luidt"),
    "Polish": Language("więc|zatem|poprawna|ostateczna", "odpowiedź|wynik", "to|brzmi"),
    "Turkish": Language("doğru|nihai|sonuç olarak", "cevap|yanıt|sonuç", ""),
    "Russian": Language("итак|таким образом|правильный|окончательный", "ответ", "это"),
    "Chinese": Language("所以|因此|故|正确|最终|最后|的|，", "答案|答(?=[:：])", "是|为|為"),
    "Japanese": Language("よって|したがって|ゆえに|正しい|最終的な|、", "答え|解答|回答|正解", "は"),
    "Korean": Language("따라서|그러므로|최종|,", "정답|답", "은|는"),
    "Arabic": Language("إذن|لذلك", "الجواب|الإجابة", "هو|هي"),
    "Hindi": Language("इसलिए|अतः|सही|अंतिम", "उत्तर", "है"),
}


def _build_marker(language: Language) -> str:
    """The pattern of the words that call something the answer in a language: `die richtige Antwort ist`."""
    verb = rf"(?:\s*(?:{language.verb}))?" if language.verb else ""
    return rf"(?:(?:{language.before})\s*)*(?:{language.noun}){verb}"


# Words end before the value: the French `réponse` is not the beginning of another word.
_OTHER_LANGUAGES = re.compile(
    r"^[ \t#>*-]*(?:"
    + "|".join(_build_marker(language) for language in LANGUAGES.values())
    + r")(?P<colon>\s*[:：=])?\s*",
    re.IGNORECASE | re.MULTILINE,
)
# A letter of an option, or a number with at most one word, a currency or a per cent sign, or a formula: no sentence.
_BARE = re.compile(
    r"\(?[A-Ja-j]\)?|(?:[-+]?\s*[$€£¥]?\s*)[-+]?\d[\d.,  ]*(?:\s*/\s*\d+)?(?:\s*(?:[%$€£¥°]|[^\W\d_]{1,20}))?|"
    r"\$[^$\n]+\$|\\\([^\n]+?\\\)",
)
_LINE_END = " \t.。．!！"


def find_thinking_end(response: str) -> int | None:
    """The character at which a response's thinking has ended: 0 without any; None if it has not ended."""
    ends = [mark.end() for mark in _THINKING_ENDS.finditer(response)]
    begins = [mark.end() for mark in _THINKING_BEGINS.finditer(response)]
    if begins and (not ends or begins[-1] > ends[-1]):
        return None
    return ends[-1] if ends else 0


class TextPart(NamedTuple):
    """A part of a text, and the characters at which it starts and ends."""

    text: str
    start: int
    end: int


class TaggedAnswer(NamedTuple):
    """The part between `<answer>` and `</answer>`, and the characters at which the tags start and end."""

    inside: TextPart
    start: int
    end: int

    @property
    def is_closed(self) -> bool:
        """Whether the closing tag is there."""
        return self.end > self.inside.end


def find_tagged_answers(response: str) -> list[TaggedAnswer]:
    """The parts in `<answer>...</answer>`, in order.

    The last one may lack its closing tag, which servers cut off as a stop string.
    """
    answers = []
    opening = None
    for tag in _TAG.finditer(response):
        if not tag["close"]:
            opening = tag
        elif opening is not None:
            inside = TextPart(response[opening.end() : tag.start()], opening.end(), tag.start())
            answers.append(TaggedAnswer(inside, opening.start(), tag.end()))
            opening = None
    if opening is not None:
        inside = TextPart(response[opening.end() :], opening.end(), len(response))
        answers.append(TaggedAnswer(inside, opening.start(), len(response)))
    return answers


def find_foreign_answers(text: str) -> Iterator[TextPart]:
    """Yield what a line calls the answer in another language than English: a number, option or formula, no sentence.

    The value stands in the marker's line, or in the next one if the marker is a line of its own.
    """
    for marker in _OTHER_LANGUAGES.finditer(text):
        start = marker.end()
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        value = text[start:end].rstrip(_LINE_END)
        if _BARE.fullmatch(value):
            yield TextPart(value, start, start + len(value))

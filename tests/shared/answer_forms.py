"""Forms in which models state an answer, for the exact judges: some state it, others only seem to.

`{a}` is the answer, `{o}` another one. In a statement `{a}` is the answer of the response; a trick has `{a}` somewhere,
but denies it, leaves it open, or ends with `{o}`, so it must never be taken for the answer.
"""

from collections.abc import Iterator

STATEMENTS = {
    "tags": "We add both.\n<answer>{a}</answer>",
    "tags, box inside": "<answer>\n$\\boxed{{{a}}}$\n</answer>",
    "tags, sentence inside": "<answer>The answer is ${a}$.</answer>",
    "tags, cut at the stop string": "We add both.\n<answer>${a}$",
    "after thinking": "<think>\nFirst \\boxed{{{o}}}, or is it 17? 3 + 4 = 7.\n</think>\n\n${a}$",
    "after thinking, a box": "Is it 12? I think so.\n</think>\n\nSo it is $\\boxed{{{a}}}$.",
    "after thinking, a sentence": "<think>The answer is 99.</think>\n\nThe answer is ${a}$.",
    "heading of Markdown": "We add both.\n\n### Final Answer\n\n${a}$",
    "heading in bold": "We add both.\n\n**Final Answer**\n${a}$",
    "heading with a colon": "We add both.\n\n**Final Answer:**\n\n${a}$",
    "German": "Wir addieren.\n\nAntwort: ${a}$",
    "German sentence": "Die Antwort ist ${a}$.",
    "French": "On additionne.\n\n**Réponse :** ${a}$",
    "Spanish": "Sumamos.\nLa respuesta es ${a}$.",
    "Italian": "Risposta: ${a}$",
    "Chinese": "我们相加。\n答案：${a}$",
    "Chinese sentence": "所以答案是 ${a}$。",
    "Japanese": "答え：${a}$",
    "Russian": "Ответ: ${a}$",
}

TRICKS = {
    "two tags": "<answer>{a}</answer> No: <answer>{o}</answer>",
    "a tag and a box": "\\boxed{{{a}}}\n<answer>{o}</answer>",
    "a tag that is denied": "<answer>{a}</answer> is wrong.",
    "a tag that is taken back": "<answer>{a}</answer>\nWait, it is ${o}$.",
    "boxes with a noun each": "$\\boxed{{{o}}}$ tomatoes and $\\boxed{{{a}}}$ potatoes",
    "only in the thinking": "<think>So $\\boxed{{{a}}}$.</think>\n\nThe answer is ${o}$.",
    "thinking without an end": "<think>So it may be\n\nThe answer is ${a}$.",
    "thinking without an answer": "<think>So $\\boxed{{{a}}}$.</think>\n",
    "heading and two answers": "### Final Answer\n${a}$ or ${o}$",
    "heading and a later answer": "### Final Answer\n${a}$\n\nCorrection: the answer is ${o}$.",
    "German, wrong": "Falsche Antwort: ${a}$",
    "German, not": "Die Antwort ist nicht ${a}$.",
    "German, two": "Antwort: ${a}$\nAntwort: ${o}$",
    "German, a question": "Antwort: ${a}$?",
    "German, taken back": "Antwort: ${a}$\nNein, das ist falsch.",
    "French, not": "La réponse n'est pas ${a}$.",
    "Chinese, wrong": "错误的答案：${a}$",
    "Chinese, not": "答案不是 ${a}$。",
    "box, then another in Russian": "\\boxed{{{a}}}\nОтвет: ${o}$",
}

# The same for an option: `{t}` is its text.
OPTION_STATEMENTS = {
    "letter and text": "{a}) {t}",
    "letter, text and explanation": "{a}) {t} is the element with these properties.",
    "letter and explanation below": "{a}) {t}\n\nThis element has the properties asked for.",
    "letter alone, explanation below": "**{a}**\n\nThis element has the properties asked for.",
    "small letter and text": "{small}. {t}",
    "because": "The answer is {a} because the element has these properties.",
    "comma": "{a}, since {t} has these properties.",
    "tags": "<answer>{a}</answer>",
    "after thinking": "<think>Perhaps {o}? Option {o} is tempting.</think>\n\n{a}",
    "after thinking, a sentence": "It is {o} or {a}.\n</think>\nThe answer is {a}.",
    "heading": "## Final Answer\n{a}) {t}",
    "German": "Antwort: {a}",
    "German sentence": "Die richtige Antwort ist ({a}).",
    "French": "Réponse : {a}",
    "Chinese": "所以正确答案是{a}。",
    "Korean": "정답: {a}",
}
OPTION_TRICKS = {
    "argued against": "{a}) {t} is wrong, because it has other properties. So it is {o}.",
    "argued against, below": "{a}) {t}\n\nThis is what many choose, but {o}) is right.",
    "all options": "{a}) {t} has some of them.\n{o}) has all of them.",
    "denied below": "{a}) {t}\n\nThis is not the element.",
    "because of another": "Because {a} is a metal, {o}.",
    "or": "{a}) or {o})",
    "a question": "{a}) {t}?",
    "not": "The answer is not {a} because the element has other properties.",
    "thinking only": "<think>{a} it is.</think>\n{o}",
    "German, not": "Die Antwort ist nicht {a}.",
    "Chinese, not": "答案不是{a}。",
}

_ELEMENTS = ("Hydrogen", "Neon", "Iron", "Gold", "Helium")


def questions() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield questions with five options, and for each the fields of a form: every option with every other one."""
    question = "Which element is it?\n" + "\n".join(f"{'ABCDE'[i]}. {name}" for i, name in enumerate(_ELEMENTS))
    for i, name in enumerate(_ELEMENTS):
        for j in range(len(_ELEMENTS)):
            if i != j:
                yield question, {"a": "ABCDE"[i], "o": "ABCDE"[j], "t": name, "small": "abcde"[i]}

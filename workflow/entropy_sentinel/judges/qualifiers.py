"""Words around an answer that make it another one, or none: `at least 7`, `twice 7`, `7 or more`, `it is wrong that`.

Three questions, each of a part of the response. What the words make of the number is not computed: a person would say
that `twice 7` is 14, a judge that takes neither 7 nor 14 from it errs less.
"""

import re

_SPACE = r"[\s$\\(\[{*]*"
_NO_ANSWER = re.compile(
    r"\b(?:not|never|neither|nor|cannot|\w+n't|wrong|incorrect\w*|false|untrue|(?:a|the) mistake|mistaken\w*|doubts?|"
    r"doubtful|unlikely|impossible|too (?:small|large|big|low|high|much|many|few)|ruled? out|different from|"
    r"differs from|hardly)\b|\\neq(?![A-Za-z])|≠",
    re.IGNORECASE,
)
_GUESS = re.compile(
    r"\b(?:could|may|might)\s+(?:also\s+|well\s+|then\s+)?be\b(?!\s+\w+(?:ed|en|ld|ade|ought)\b)|"
    r"\b(?:maybe|perhaps|possibly|unless|only if|only when|sometimes|whether|not sure|unsure|unclear|no idea|"
    r"do not know|don't know|(?:i|my|best|a|we|would|i'd)\s+(?:\w+\s+)?guess|"
    r"(?:thought|believed|said|claimed|supposed) to be)\b|"
    r"^\W*(?:so |then |let us |let's |we |now )?(?:suppose|assume)\b|"
    # `If he buys 3, he has 18` is an answer.
    r"^\W*(?:so |then )?if\b(?!.*(?:,|\bthen\b|=))|\bif\b.*\bwere\b.*\bwould\b|\bwould\b.*\bif\b.*\bwere\b",
    re.IGNORECASE,
)
# Before a number, and next to it.
_BEFORE = re.compile(
    r"(?:\b(?:less|more|fewer|greater|larger|bigger|smaller|higher|lower|longer|shorter|other|rather|better|worse)\s+than|"
    r"\bat\s+(?:the\s+)?(?:least|most|best|worst)|(?<!round )(?<!rounds )(?<!rounded )\bup to|"
    r"\b(?:over|under|above|below|beyond|exceed\w*|between|within|nearly|"
    r"almost|near|but|except|excluding|besides|without|no|minus|negative|plus|times|by|versus|per|modulo|mod|"
    r"twice|thrice|double|triple|half|divides|from)|\bclose to|\b(?:end|start|beginn)(?:ing|s)? (?:in|with)|"
    r"\bcloser to|\badd\w*\b[^.,;]*\bto|\btwice as \w+ as|"
    r"\b\w+ as (?:many|much|long|old|far) as|"
    r"\b(?:square|cube|squares|cubes|root|roots|factorial|reciprocal|inverse|sum|product|difference|quotient|multiples?|"
    r"factors?|divisors?|power|powers|log|logarithm|sine|cosine|tangent|opposite|negation|half|third|quarter|thirds|"
    r"quarters|tenth|fraction|part|percentage|digits?|copies|twice|double|triple|remainder|most|all|none|one|any|out|"
    r"instead|multiples|range|group|groups)\s+of(?:\s+the)?(?:\s+numbers?)?|"
    r"\b(?:equation|step|example|problem|question|section|line|page|figure|table|theorem|lemma|case|chapter|item|no\.|"
    r"first|last|next|every|\#)|[<>≤≥≠]|\\[lg]eq?|\\neq?|\\[lg]t)$",
    re.IGNORECASE,
)  # fmt: skip
# After a number, next to it or behind what is counted.
_AFTER = re.compile(
    r"(?:st|nd|rd|th)\b|[A-Za-z]|\s*!|"
    r"\s*(?:to|through|until|-|\\text\{\s*to\s*\})\s*[$\\(]*\d|"
    r"\s*(?:squared|cubed|factorial|doubled|tripled|halved|plus|minus|divided|multiplied|mod|modulo|choose|raised|"
    r"reduced|increased|decreased|halves|thirds|fourths|fifths|sixths|eighths|tenths|hundredths|thousandths|"
    r"tens|twos|point|remainder|with (?:a )?remainder|followed by|in base|works|fails)\b|"
    r"(?:\s+[\w-]+){0,3}?\s+(?:or|and)\s+(?:more|less|fewer|greater|larger|above|below|beyond|up|over|under|so|none|"
    r"nothing|another|something|some|perhaps|maybe|a)\b",
    re.IGNORECASE,
)
# The same, but not where the number ends a calculation: `20 - 2 = 18 more` is 18.
_COMPARED = re.compile(
    r"\s*(?P<next>times|over|out of|in \d|of \d|pairs?|digits?|ago|quarters|as (?:many|much)|below|above|if|when)\b|"
    r"(?:\s+[\w-]+){0,2}?\s+(?P<word>more|less|fewer|greater|larger|bigger|smaller|higher|lower|longer|shorter|older|"
    r"younger|taller|faster|each)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\s+(?:a|an|the|about|exactly)\s*$", re.IGNORECASE)
_OPENERS = " \t\n$\\([*~:"
_ABOUT = re.compile(r"\b(?:answer|result)s?\s+(?:has|have|contains?|can|lies|depends|ends|begins|starts|needs)\b", re.I)
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?]\s*|\n\s*)(?:no|wait|but|actually|however|oops|sorry|correction|hold on|hmm+|on second thought|"
    r"just kidding|scratch that|strike that|"
    r"i take (?:that|it) back|i mean|let me correct)\b|"
    r"\b(?:wrong|incorrect|mistaken?|false|untrue|an error)\b|\bnot (?:right|correct|true|possible|the answer)\b",
    re.IGNORECASE,
)
_BEFORE_BOX = re.compile(
    rf"(?:\b(?:not|never|cannot be|n't)(?:\s+(?:be|equal|equals|equal to))?|"
    rf"\b(?:wrong|false|incorrect|untrue|doubt|not true|not correct|mistake)\s+(?:that|to\s+\w+)\b[^.!?,;]*){_SPACE}$",
    re.IGNORECASE,
)
_AFTER_BOX = re.compile(
    r"[\s$\\)\]}*]*(?:\?|(?:is|was|are|were|does|do|can)\s+(?:not\b|never\b|wrong|incorrect|false|untrue|impossible)|"
    r"(?:isn't|wasn't|aren't|doesn't|can't|cannot)\b)",
    re.IGNORECASE,
)


def no_answer(sentence: str) -> bool:
    """Whether a sentence says what something is not."""
    return bool(_NO_ANSWER.search(sentence))


def guessed(sentence: str) -> bool:
    """Whether a sentence asks, guesses or supposes, or says something about the answer in place of it."""
    return bool(_GUESS.search(sentence) or _ABOUT.search(sentence) or sentence.rstrip(" *_\"')").endswith("?"))


def taken_back(following: str) -> bool:
    """Whether what follows an answer takes it back."""
    return bool(_TAKEN_BACK.search(following))


def changed(before: str, after: str, asked: frozenset[str] = frozenset()) -> bool:
    """Whether the words right before a number, or right after it and its unit, make it another one.

    `asked`: words that the question asks in; after `How many more?` the answer `7 more` is 7.
    """
    before = _ARTICLE.sub("", before.rstrip(_OPENERS)).rstrip(_OPENERS)
    found, compared = _BEFORE.search(before), _COMPARED.match(after)
    if found and found[0].strip().casefold() not in asked:
        return True
    calculated = before.endswith(("=", "\\approx", "≈"))
    if compared and not calculated and (compared["next"] or compared["word"]).casefold() not in asked:
        return True
    return bool(_AFTER.match(after))


def box_denied(before: str, after: str) -> bool:
    """Whether the words right before and after a box say that its content is not the answer, or ask."""
    return bool(_BEFORE_BOX.search(before[-200:]) or _AFTER_BOX.match(after[:200]))

"""Whether two models give the same answer; all expected values are worked out by hand from the rules."""

import time

import pytest

from entropy_sentinel.judges.answer_matching import (
    is_comparable,
    is_slice_comparable,
    match_answers,
    split_words,
)

_LONG = "First we add the numbers of both boxes, and then we count again.\n"
_SAME = {
    "the same words": ("Beijing", "beijing."),
    "an article": ("The Hague", "Hague"),
    "in a sentence": ("Moscow", "Moscow is the capital of Russia."),
    "the shorter may be either": ("It is New Delhi, I think.", "New Delhi"),
    "bold": ("**Paris**", "The capital is Paris."),
    "letter of an option": ("Answer: B", "B"),
    "letter and text": ("B", "B) Neon"),
    "option A is no article": ("Answer: A", "A"),
    "option A with its text": ("A", "(A) Neon"),
    "letter in lower case": ("B", "the answer is b"),
    "option in a box": ("(B) 34", _LONG + "So 34 more. The correct answer is \\(\\boxed{B}\\)."),
    "text of an option": ("B) Neon", "It is neon."),
    "letter after a discussion": ("C", "A is too small and B too large. The answer is C."),
    "yes and a reason": ("Yes", "Yes, 203 is prime."),
    "no at the end": ("No.", "It is divisible by seven, so the answer is no"),
    "a reason after the answer": ("no", "I checked. The answer is no because it is even."),
    "two reasons": ("Yes, it is prime.", "Yes. No number divides it, and it is odd and larger than one."),
    "letter and reason": ("B", "The answer is B because C is too small."),
    "thousands": ("1,000", "1000.0"),
    "thousands of other countries": ("1'000", "1\u202f000"),
    "exponent": ("1.5e3", "1500"),
    "number and reason": ("8", _LONG + "The answer is 8, because we have 3 and 5."),
    "result of a sum": ("8", "There are 3 apples and 5 pears, which makes 8 in all."),
    "currency": ("$5", "5 dollars"),
    "per cent": ("50%", "50"),
    "fraction": ("1/2", "0.5"),
    "fraction of LaTeX": ("\\(\\frac{1}{2}\\)", "0.5"),
    "negative": ("-5", "x = −5"),
    "negative money": ("-$5", "$-5.00"),
    "unit": ("5 km", "The distance is 5km."),
    "a range has no sign": ("3-5", "3 – 5"),
    "last number": (_LONG + "That makes 12 in all.", _LONG + "So 3 + 9 = \\boxed{12}"),
    "last line": (_LONG + "The result is a tree.", "We look at leaves and at roots, as always.\nThe result: a tree"),
    "list": ("1. red\n2. green", "1) Red\n2) Green"),
    "code": (
        "```python\ndef f(items):\n    return sorted(items)\n```",
        "```\ndef f(items):\n    # in order\n    return sorted(items)\n```",
    ),
    "thinking does not count": ("<think>Is it Lyon? No.</think>Paris", "Paris"),
    "Chinese": ("北京", "中国的首都是北京。"),
    "Japanese": ("東京", "答えは東京です"),
    "Thai": ("กรุงเทพ", "เมืองหลวงคือกรุงเทพ"),
    "Korean with an ending": ("서울", "수도는 서울입니다."),
    "full width": ("１２", "12"),
    "accents": ("São Paulo", "Sao Paulo"),
    "initials": ("U.S.", "the US"),
    "many digits": ("7" * 5000, f"It is {'7' * 5000}."),
    "possessive": ("Felix", "The butter was Felix's."),
    "emoji": ("🙂", "🙂"),
}
_DIFFERENT = {
    "other words": ("Beijing", "Shanghai"),
    "a part of a word": ("Nice", "Nicea is an old town."),
    "a symbol is no part of another": ("I", "Ir"),
    "words in another order": ("York New", "New York"),
    "another option": ("A", "B) a cat"),
    "an option among others": ("B", "The options are A, B and C. The answer is C."),
    "several options": ("B", "A) 29 (B)"),
    "no inside a sentence": ("no", "I do not know, no idea"),
    "yes inside a sentence": ("Yes", "One might say yes to this, but the question is open"),
    "yes and no": ("Yes", "No."),
    "titles that begin with a no": ("No Country for Old Men", "No Time to Die"),
    "a summand": ("3", "There are 3 apples and 5 pears, which makes 8 in all."),
    "names of languages": ("C++", "C#"),
    "denied": ("Paris", "It is not Paris."),
    "denied in Chinese": ("是", "不是"),
    "sign of a number": ("-5", "5"),
    "another number": ("5", "15"),
    "another fraction": ("1/2", "1/3"),
    "other unit": ("5 km", "5 m"),
    "another relation": ("x > 5", "x < 5"),
    "last numbers": (_LONG + "That makes 12 in all.", _LONG + "That makes 13 in all."),
    "a number and none": (_LONG + "That makes 12 in all.", _LONG + "That makes none in all."),
    "last lines": (_LONG + "The result is a tree.", _LONG + "The result is a bush."),
    "Chinese": ("北京", "中国的首都是上海。"),
    "Thai marks": ("ไม่", "ใหม่"),
    "Hindi vowels": ("कि", "का"),
    "emoji": ("🙂", "🙁"),
    "emoji and words": ("🙂", "positive"),
}
_NO_ANSWER = {
    "null": (None, "Paris"),
    "empty": ("Paris", ""),
    "blanks": (" \n", "Paris"),
    "nothing after the thinking": ("<think>It is Paris.</think>\n", "Paris"),
    "endless thinking": ("<think>It may be Paris", "Paris"),
}


# Pairs of both kinds, by what they are about: a yes or no, one of several numbers, signs, fractions, mixed numbers,
# constants, powers, lists, percentages, and a first line that is the answer.
_SAME_VALUES = [
    ("no", "No, one knows."),
    ("yes", "Yes it is prime"),
    ("No", "No it is not"),
    ("no", "It is no"),
    ("False", "The statement is false."),
    ("yes", "**Yes**"),
    ("no", "The answer: **No**."),
    ("Yes", "Yes\n\nIt is."),
    ("12", "12, not 13"),
    ("12", "12 of 15"),
    ("12", "12 (3 x 4)"),
    ("5 May", "5 May 1999"),
    ("12", "5 + 7 = 12"),
    ("15", "an increase of 15"),
    ("- 5", "-5"),
    ("x = - 5", "-5"),
    ("3 - 5", "3-5"),
    ("− 5", "-5"),
    ("- 5 apples\n- 3 pears", "5 apples, 3 pears"),
    (r"\frac12", "1/2"),
    (r"\frac12", "0.5"),
    (r"\frac1{2}", "1/2"),
    (r"\frac{1}2", "1/2"),
    (r"\tfrac 12", "1/2"),
    (r"\frac{10}3", "10/3"),
    (r"-\frac12", "-1/2"),
    (r"- \frac{1}{2}", "-0.5"),
    (r"$\frac{12}{5}$", "2.4"),
    (r"1\frac12", "1.5"),
    ("1½", "1.5"),
    ("½", "0.5"),
    ("1 ½", "1.5"),
    ("1 1/2", "1.5"),
    ("2⅔", "8/3"),
    ("-½", "-0.5"),
    ("-1½", "-1.5"),
    ("½ cup", "0.5 cup"),
    (r"2\pi", "2π"),
    (r"2\pi", "2 pi"),
    ("2*pi", "2π"),
    (r"2 \cdot \pi", "2π"),
    (r"\frac{\pi}{2}", "π/2"),
    (r"\frac{2\pi}{3}", r"2\pi/3"),
    (r"\frac{2}{3}\pi", "2π/3"),
    (r"-\pi", "-π"),
    (_LONG + "So it is 2π.", r"2\pi"),
    (_LONG + r"So it is \boxed{2\pi}", _LONG + "So we get 2π"),
    ("- π", "-π"),
    (r"\sqrt{2}", "√2"),
    (r"\sqrt2", "√2"),
    (r"3\sqrt{2}", "3√2"),
    ("sqrt(2)", "√2"),
    ("√2/2", r"\frac{\sqrt{2}}{2}"),
    ("x²", "x^2"),
    ("10^2", "10²"),
    (r"90^\circ", "90°"),
    (r"25^\circ C", "25 °C"),
    ("100,200", "100, 200"),
    ("100,200", "100200"),
    ("1,000", "1000"),
    ("1,200,300", "1, 200, 300"),
    ("50%", "0.5"),
    ("50%", "50"),
    ("0.5%", "0.5"),
    ("0.5%", "0.005"),
    ("50%", "1/2"),
    (r"50\%", "0.5"),
    ("1%", "1"),
    ("The probability is 50%.", "0.5"),
    ("50 percent", "0.5"),
    ("The share is 0.5 and that is not 50% of it", "50%"),
    ("12", "12\n\nWe count the boxes, and one more would make 13"),
    (_LONG + "So 12", "12\n\nWe count the boxes, and one more would make 13"),
    ("**12**\n\nExplanation: there are 3 and 9, and one more is 13 in all", "12"),
    ("12\n\nWait, that is wrong. The answer is 13", "13"),
    ("1.\nwe have a thing and other 13 things", "13"),
    ("5 km/h", "5 km/h"),
    ("N/A", "n/a"),
    ("and/or", "and or"),
    ("$-5$", "-5"),
    ("(-5)", "-5"),
    ("well-known", "well known"),
    ("1998-99", "1998–99"),
]
_OTHER_VALUES = [
    ("no", "No one knows"),
    ("No", "No Time to Die"),
    ("true", "True Detective"),
    ("True", "That is not true."),
    ("True", "It isn't true"),
    ("no", "I cannot say yes or no"),
    ("no", "The answer is no one"),
    ("no", "No 10 Downing Street"),
    ("No", "No. 10"),
    ("12", "First 12, then 13."),
    ("12", "12, then 13"),
    ("12 apples", "First 12 apples, then 13 apples"),
    ("12", "12, 13"),
    ("- 5", "5"),
    ("3 - 5", "-5"),
    (r"-\frac12", "1/2"),
    (r"\frac12", "12"),
    (r"\frac12", "1/3"),
    (r"1\frac12", "5.5"),
    ("1½", "5.5"),
    ("1½", "11/2"),
    ("½", "2"),
    ("2π", "2"),
    ("2", "It is 2π."),
    ("π", "2π"),
    (r"\frac{\pi}{2}", "2π"),
    ("-π", "π"),
    ("π/2", "π"),
    (_LONG + "So it is 2π.", "2"),
    ("√2", "2"),
    (r"-\sqrt{2}", r"\sqrt{2}"),
    ("x", "x^2"),
    ("10²", "102"),
    ("-x", "x"),
    ("x", "2x"),
    ("1,000", "1, 0"),
    ("100,200", "100, 201"),
    ("50%", "0.5%"),
    ("100%", "1"),
    ("50", "0.5"),
    ("13", "12\n\nWe count the boxes, and one more would make 13"),
    ("12", "12\n13\n14"),
    ("12\n\nWait, that is wrong. The answer is 13", "12"),
    ("C++", "C#"),
    ("7 minus 2", "5"),
]


@pytest.mark.parametrize(("pairs", "expected"), [(_SAME_VALUES, True), (_OTHER_VALUES, False)], ids=["same", "other"])
def test_matches_values(pairs: list[tuple[str, str]], expected: bool) -> None:
    both_ways = {pair: {match_answers(*pair), match_answers(*pair[::-1])} for pair in pairs}
    assert [pair for pair, result in both_ways.items() if result != {expected}] == []


def test_long_texts_are_compared_quickly() -> None:
    """A pattern that tries each beginning and end would take minutes; these take milliseconds."""
    start = time.process_time()
    for text in (
        "7" * 50000 + "½",
        "a" * 50000,
        "- 5\n" * 20000,
        "\\frac" * 20000,
        "7 " * 20000 + "pi",
        "7" * 50000 + "π",
        "no " * 20000,
    ):
        match_answers(text, f"{text} b")
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("pairs", "expected"), [(_SAME, True), (_DIFFERENT, False), (_NO_ANSWER, None)], ids=["same", "different", "none"]
)
def test_matches_answers(pairs: dict[str, tuple[str | None, str | None]], expected: bool | None) -> None:
    both_ways = {name: {match_answers(*pair), match_answers(*pair[::-1])} for name, pair in pairs.items()}
    assert {name: result for name, result in both_ways.items() if result != {expected}} == {}


def test_normalizes_answers() -> None:
    assert split_words("The **U.S.** owed $1,200.50, don't they?") == ["us", "owed", "2401/2", "dont", "they"]


_SHORT_TEXTS = ["Paris", "B", "-5", "one two three four five six", "北京市朝阳区建国路", "🙂", "SELECT name FROM books"]
_NUMBER_LAST = [_LONG + "So the final answer is \\boxed{12}.", "There are seven of these, and in all it is 7\n```"[:-4]]
_OPEN = [
    None,
    "",
    "<think>It may be Paris",
    "one two three four five six seven",
    "In 1998 it was sold to somebody else.\nNobody knows why.",
    '```json\n{\n  "name": "Vera",\n  "city": "Cairo",\n  "job": "nurse",\n  "age": 43\n}\n```',
    "SELECT name FROM books ORDER BY score ASC LIMIT 1",
    "def f(numbers):\n    return sum(numbers) + numbers[1] * 2 - 17",
    "北京是中华人民共和国的首都和政治文化中心",
]


def test_says_which_answers_can_be_compared() -> None:
    assert [text for text in (*_SHORT_TEXTS, *_NUMBER_LAST) if not is_comparable(text)] == []
    assert [text for text in _OPEN if is_comparable(text)] == []


def test_a_slice_needs_half_of_its_answers() -> None:
    assert [is_slice_comparable(share) for share in ([True, False], [True])] == [True, True]
    assert [is_slice_comparable(share) for share in ([True, False, False], [])] == [False, False]

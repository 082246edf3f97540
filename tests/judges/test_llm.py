"""The LLM as a judge, against a server on loopback."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from fake_api import completion, fake_api, ok, quiet_litellm, refusal
from llm_judges import llm_judge

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms

pytestmark = quiet_litellm

KEY = "sk-proj-0a1b2c3d4e5f6a7b"  # as conftest.py sets it
# The paper's appendix C.2, with the question, the response and the reference of `case(0)`.
SYSTEM = (
    "Task: Determine if the Response corresponds to the Correct Answer for the Question, based on the given Correct "
    'Answer text. Answer ONLY with the exact format: {"success": True} or {"success": False}'
)
USER = "# Question\nquestion 0 {response}\n\n# Response\nIt is\n\n\\boxed{0}.\n\n# Correct Answer\n0 {question}"


def case(number: int, response: str | None = None) -> Case:
    """Of a question and a reference that hold placeholders, which stay what they are."""
    response = f"It is\n\n\\boxed{{{number}}}.<|end|><|endoftext|>\n" if response is None else response
    return Case(f"question {number} {{response}}", response, f"{number} {{question}}", truncated=False)


def verdict_of(reply: str, **more: Any) -> Verdict:
    """What the judge makes of one reply."""
    with fake_api(lambda body, _: ok(completion(reply, [], 3))) as api:
        (verdict,) = llm_judge(api, **more).judge([case(0)])
    return verdict


def test_the_judge_is_asked_in_the_papers_words_with_a_schema_and_the_response_without_special_tokens() -> None:
    with fake_api(lambda body, _: ok(completion('{"success": true}', [], 3))) as api:
        asked = llm_judge(api)
        assert asked.judge([case(0)]) == [Verdict(True)]
        assert asked.software.endswith(", tiny-2025")
    (request,) = api.requests
    assert request["messages"] == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER}]
    assert "temperature" not in request
    assert request["max_tokens"] == 64
    schema = request["response_format"]["json_schema"]["schema"]
    assert (schema["properties"]["success"]["type"], schema["required"]) == ("boolean", ["success"])
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ('{"success": true}', True),
        ('{"success": false}', False),
        ('{"success": True}', True),
        ('{"success": False}', False),
        ('\n {\n  "success" : true\n}\n', True),
        ('```json\n{"success": false}\n```', False),
        ('```\n{"success": True}\n```\n', True),
        ('```json\n{"success": true}', True),
        ('{"success": true}\n```', True),
        ('{"success": "true"}', True),
        ('{"success": "False"}', False),
        ('{"success": TRUE}', True),
        ('{"Success": true}', True),
        ("{'success': True}", True),
        ("{'success': False, 'why': 'other'}", False),
        ('{"success": true, "why": "both are {4}"}', True),
        ('The answer is 4: {"success": true}', True),
        ('Both say {4}, so {"success": true}<|im_end|>', True),
        ('The response says {"success": true}, rightly. {"success": true}', True),
        ('"{\\"success\\": true}"', True),
        ('<think>{"success": true}? No.</think>\n{"success": false}', False),
        ('{"success": false}.</s>', False),
    ],
)
def test_a_judgement_is_one_clear_object_at_the_end(reply: str, label: bool) -> None:
    assert verdict_of(reply) == Verdict(label)


@pytest.mark.parametrize(
    "reply",
    [
        "INCORRECT",
        "true",
        "False",
        '{"success": 1}',
        '{"success": null}',
        '{"success": "yes"}',
        '{"success": false, "success": true}',
        '{"success": true} as 4 = 4',
        '{"success": true}{"success": false}',
        'The response says {"success": true}. {"success": false}',
        '{"success": true} {"success": null}',
        '[{"success": true}]',
        '{"success": tru',
        '{"verdict": {"success": true}',
        "success: true",
    ],
)
def test_another_reply_is_no_label_and_the_exchange_is_kept(reply: str) -> None:
    verdict = verdict_of(reply)
    assert verdict.label is None
    assert verdict.reason == f"the judge's reply is not a judgement: '{' '.join(reply.split())}'"
    assert verdict.exchange["messages"][1]["content"] == USER
    assert json.loads(verdict.exchange["reply"])["choices"][0]["message"]["content"] == reply


def test_an_empty_reply_a_truncated_one_and_a_refusal_say_so() -> None:
    def reply(body: dict, number: int) -> Any:
        text = body["messages"][1]["content"]
        if "question 2" in text:
            return refusal("The prompt was filtered: content_policy_violation", "invalid_request_error")
        answer = completion("" if "question 0" in text else '{"succ', [], 64)
        answer["choices"][0]["finish_reason"] = "stop" if "question 0" in text else "length"
        return ok(answer)

    with fake_api(reply) as api:
        verdicts = llm_judge(api).judge([case(number) for number in range(3)])
    assert [(verdict.label, verdict.reason) for verdict in verdicts] == [
        (None, "the judge's reply is empty"),
        (None, "the judge's reply is truncated at its max_tokens"),
        (None, "the judge's server refuses: The prompt was filtered: content_policy_violation"),
    ]


def test_equal_cases_are_asked_once_and_empty_responses_never() -> None:
    with fake_api(lambda body, _: ok(completion('{"success": true}', [], 3))) as api:
        asked = llm_judge(api)
        verdicts = asked.judge([case(1), case(1), case(0, "<|end|>\n"), case(2)])
        assert [verdict.label for verdict in verdicts] == [True, True, None, True]
        assert verdicts[2].reason == "empty response"
        assert llm_judge(api).judge([case(1), case(2)]) == [Verdict(True)] * 2
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("So 3 and then \\boxed{\\frac{1}{2}} is it.", "\\frac{1}{2}"),
        ("First 3.\n\nThe answer is 4.<|im_end|>\n", "The answer is 4."),
        ("if |x| = 3 then <|x|> is a norm", "if |x| = 3 then <|x|> is a norm"),
    ],
)
def test_the_final_answer_alone_is_shown_where_the_config_says_so(response: str, answer: str) -> None:
    with fake_api(lambda body, _: ok(completion('{"success": false}', [], 3))) as api:
        assert llm_judge(api, shown="answer").judge([case(0, response)]) == [Verdict(False, answer)]
    assert f"# Response\n{answer}\n\n# Correct" in api.requests[0]["messages"][1]["content"]


def test_a_server_without_structured_output_is_asked_without_a_schema() -> None:
    with fake_api(lambda body, _: ok(completion('{"success": True}', [], 3))) as api:
        assert llm_judge(api, structured_output=False, temperature=0.0).judge([case(0)]) == [Verdict(True)]
    assert "response_format" not in api.requests[0]
    assert api.requests[0]["temperature"] == 0


def test_what_fails_at_first_is_asked_again_and_every_verdict_is_paid_for_once(tmp_path: Path) -> None:
    ledger, failed = str(tmp_path / "spending.sqlite"), set()

    def reply(body: dict, _: int) -> Any:
        text = body["messages"][1]["content"]
        if text not in failed:
            failed.add(text)
            return 503, {}, b"<html>busy</html>", 0
        return ok(completion(f'{{"success": {"true" if "question 2" in text else "false"}}}', [], 5))

    cases = [case(number) for number in range(4)]
    with fake_api(reply) as api:
        verdicts = llm_judge(api, {"ledger": ledger}).judge(cases)
        assert llm_judge(api, {"ledger": ledger}).judge(cases) == verdicts
    assert [verdict.label for verdict in verdicts] == [False, False, True, False]
    assert len(api.requests) == 8
    (account,) = Ledger(ledger, Terms()).accounts()
    assert (account["calls"], account["cached_calls"]) == (4, 4)


@pytest.mark.parametrize("kept", [{"model": None, "text": None}, {"content": None}, "text", [1]])
def test_a_damaged_reply_in_the_cache_is_no_label(tmp_path: Path, kept: Any) -> None:
    with fake_api(lambda body, _: ok(completion('{"success": true}', [], 3))) as api:
        llm_judge(api).judge([case(0)])
        [path] = (path for path in (tmp_path / "cache" / "replies").rglob("*") if path.is_file())
        content = json.loads(gzip.decompress(path.read_bytes()))
        path.write_bytes(gzip.compress(json.dumps(content | {"reply": kept}).encode()))
        (verdict,) = llm_judge(api).judge([case(0)])
    assert (verdict.label, "cached reply is damaged" in str(verdict.reason)) == (None, True)


def test_a_key_is_in_no_file_log_or_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A server that repeats the key wherever it can: as its name, in replies, in errors."""

    def reply(body: dict, number: int) -> Any:
        if number == 3:
            return 401, {}, {"error": {"message": f"wrong key {KEY}"}}, 0
        return ok(completion(f"Your key is {KEY}", [], 5) | {"model": KEY})

    with fake_api(reply) as api:
        asked = llm_judge(api, {"concurrency": 1, "retries": 0, "ledger": str(tmp_path / "spending.sqlite")})
        verdicts = asked.judge([case(number) for number in range(3)])
        assert {verdict.reason for verdict in verdicts} == {"the judge's reply is not a judgement: 'Your key is ***'"}
        with pytest.raises(EntropySentinelError, match=r"wrong key \*\*\*") as error:
            asked.judge([case(4)])
    assert api.keys == [f"Bearer {KEY}"] * 4
    told = f"{error.value} {verdicts} {asked.software} {caplog.text}"
    assert KEY not in told
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert not [
        path
        for path in written
        if KEY.encode() in (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    ]

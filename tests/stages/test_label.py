"""The stage that labels: what a judge is shown."""

import polars as pl

from entropy_sentinel.judges.judge import Verdict
from entropy_sentinel.stages.label import label


class Recorder:
    """A judge that keeps its cases and cannot say."""

    version = "none"

    def judge(self, cases):
        self.cases = cases
        return [Verdict(None, reason="no opinion") for _ in cases]


def test_every_response_that_did_not_stop_by_itself_is_truncated() -> None:
    reasons = ["stop", "length", "content_filter", "tool_calls"]
    items = pl.DataFrame({"item_id": ["a-00000"], "question": ["2 + 2?"], "reference": ["4"]})
    responses = pl.DataFrame({"item_id": "a-00000", "sample": range(4), "text": "four", "finish_reason": reasons})
    judge = Recorder()
    frame = label(items, responses, judge)
    assert [case.truncated for case in judge.cases] == [False, True, True, True]
    assert frame["reason"].to_list() == ["no opinion"] * 4

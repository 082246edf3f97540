"""The layouts of this package: the own formats of servers, and what clients keep of a reply."""

from entropy_sentinel.logs.layouts import Layout
from entropy_sentinel.logs.stream_declarations import (
    GEMINI_STREAM,
    LLAMA_CPP_STREAM,
    OLLAMA_STREAM,
    SGLANG_STREAM,
    TGI_STREAM,
)

GEMINI = Layout(
    responses="candidates",
    steps=("logprobsResult.chosenCandidates",),
    logprob="logProbability",
    token_id="tokenId",
    all_top="logprobsResult.topCandidates",
    entries="candidates",
    top_logprob="logProbability",
    text=("content.parts",),
    parts=True,
    finish=("finishReason",),
    item_id=("responseId",),
    model=("modelVersion",),
    time=("createTime",),
    prompt_tokens=("usageMetadata.promptTokenCount",),
    error=("error", "promptFeedback.blockReason"),
    stream=GEMINI_STREAM,
    sign=("usageMetadata.promptTokenCount", "usage_metadata.prompt_token_count"),
)
OLLAMA = Layout(
    steps=("logprobs",),
    top="top_logprobs",
    text=("message.content", "response"),
    thinking=("message.thinking", "thinking"),
    finish=("done_reason",),
    time=("created_at",),
    prompt_tokens=("prompt_eval_count",),
    stream=OLLAMA_STREAM,
    needs=("done",),
)
TGI = Layout(
    steps=("details.tokens",),
    token="text",
    token_id="id",
    all_top="details.top_tokens",
    text=("generated_text",),
    finish=("details.finish_reason",),
    stream=TGI_STREAM,
    sign=("details.generated_tokens",),
)
SGLANG = Layout(
    steps=("meta_info.output_token_logprobs",),
    logprob=0,
    token_id=1,
    token=2,
    all_top="meta_info.output_top_logprobs",
    top_logprob=0,
    text=("text",),
    finish=("meta_info.finish_reason.type", "meta_info.finish_reason"),
    item_id=("meta_info.id", "rid"),
    prompt_tokens=("meta_info.prompt_tokens",),
    stream=SGLANG_STREAM,
    sign=("meta_info.completion_tokens",),
)
LLAMA_CPP = Layout(
    steps=("completion_probabilities",),
    token_id="id",
    top="top_logprobs",
    text=("content",),
    finish=("stop_type",),
    item_id=("id_slot_request", "request_id"),
    prompt_tokens=("tokens_evaluated",),
    stream=LLAMA_CPP_STREAM,
)
LANGCHAIN = Layout(
    steps=(
        "response_metadata.logprobs",
        "generation_info.logprobs",
        "content.*.logprobs",
        "response_metadata.logprobs_result",
    ),
    text=("content", "text"),
    parts=True,
    finish=(
        "response_metadata.finish_reason",
        "generation_info.finish_reason",
        "response_metadata.incomplete_details.reason",
        "response_metadata.status",
    ),
    item_id=("response_metadata.id", "id"),
    model=("response_metadata.model_name", "generation_info.model_name", "response_metadata.model"),
    time=("response_metadata.created_at",),
    prompt_tokens=("usage_metadata.input_tokens", "response_metadata.token_usage.prompt_tokens"),
    displaces=True,
    sign=("response_metadata.finish_reason", "response_metadata.logprobs", "response_metadata.model_name"),
)
NEMO = Layout(
    steps=("logprobs",),
    logprob=None,
    token=None,
    tokens="tokens",
    all_top="top_logprobs",
    text=("generation",),
    item_id=("item_id", "id", "problem_id"),
    prompt_tokens=("num_input_tokens",),
    needs=("generation", "tokens"),
)

# DJL's LMI writes the same fields as TGI, with `log_prob`.
WATSONX = Layout(
    responses="results",
    steps=("generated_tokens",),
    text=("generated_text",),
    finish=("stop_reason",),
    model=("model_id",),
    time=("created_at",),
    prompt_tokens=("results[0].input_token_count",),
    sign=("results[0].generated_token_count",),
)
BEDROCK = Layout(
    steps=("logprobs",),
    text=("generation",),
    finish=("stop_reason",),
    prompt_tokens=("prompt_token_count",),
    needs=("generation", "stop_reason"),
    sign=("generation_token_count",),
)
# Of a list of messages, those of the kind `response` are replies.
PYDANTIC_AI = Layout(
    steps=("provider_details.logprobs", "vendor_details.logprobs", "parts.*.provider_details.logprobs"),
    text=("parts",),
    parts=True,
    finish=("finish_reason", "provider_details.finish_reason", "vendor_details.finish_reason"),
    item_id=("provider_response_id", "vendor_id"),
    model=("model_name",),
    time=("timestamp",),
    prompt_tokens=("usage.input_tokens", "usage.request_tokens"),
    displaces=True,
    needs=("kind=response&parts",),
    sign=("kind=response&parts",),
    requests=("kind=request&parts",),
)
# Results of `generateText`, and the spans that the AI SDK's telemetry writes about them.
AI_SDK = Layout(
    steps=(
        "providerMetadata.*.logprobs",
        "experimental_providerMetadata.*.logprobs",
        "attributes.ai.response.providerMetadata.*.logprobs",
    ),
    text=("text", "content", "attributes.ai.response.text"),
    parts=True,
    finish=("finishReason.unified", "finishReason", "attributes.ai.response.finishReason"),
    item_id=("response.id", "attributes.ai.response.id"),
    model=("response.modelId", "attributes.ai.response.model"),
    time=("response.timestamp", "attributes.ai.response.timestamp"),
    prompt_tokens=("usage.inputTokens", "usage.promptTokens", "attributes.ai.usage.promptTokens"),
    displaces=True,
    sign=("providerMetadata", "experimental_providerMetadata", "attributes.ai.response.text"),
)
LLM_LOGS = Layout(
    steps=("response_json.logprobs",),
    text=("response", "response_json.content"),
    finish=("response_json.finish_reason",),
    model=("model", "response_json.model"),
    time=("datetime_utc", "response_json.created"),
    prompt_tokens=("input_tokens", "response_json.usage.prompt_tokens"),
    sign=("response_json&datetime_utc", "conversation_id&datetime_utc"),
)
ANTHROPIC = Layout(
    steps=("logprobs",),
    text=("content",),
    parts=True,
    finish=("stop_reason",),
    prompt_tokens=("usage.input_tokens",),
    needs=("type=message&content&usage",),
    sign=("type=message&content&usage",),
)
ANY_STEPS = Layout(
    steps=("logprobs", "logprobsResult", "logprobs_result", "token_logprobs", "meta.logprobs", "raw.logprobs"),
    text=(
        *(
            "text",
            "content",
            "generated_text",
            "generation",
            "completion",
            "answer",
            "output_text",
            "response",
            "output",
        ),
        *("message.content", "message"),
    ),
    parts=True,
    finish=("finish_reason", "finishReason", "stop_reason", "meta.finish_reason"),
    item_id=("id", "response_id", "request_id", "custom_id", "response.id"),
    model=("model", "model_name", "model_id", "modelId", "meta.model", "response.modelId"),
    time=("created", "created_at", "timestamp", "time", "response.timestamp"),
    prompt_tokens=("usage.prompt_tokens", "usage.input_tokens", "meta.usage.prompt_tokens"),
    displaces=True,
    any_record=True,
)

# In the order in which they are tried.
LAYOUTS: dict[str, Layout] = {
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "tgi": TGI,
    "sglang": SGLANG,
    "llama-cpp": LLAMA_CPP,
    "langchain": LANGCHAIN,
    "nemo": NEMO,
    "watsonx": WATSONX,
    "bedrock": BEDROCK,
    "pydantic-ai": PYDANTIC_AI,
    "ai-sdk": AI_SDK,
    "llm-logs": LLM_LOGS,
    "anthropic": ANTHROPIC,
    "any-logprobs": ANY_STEPS,
}

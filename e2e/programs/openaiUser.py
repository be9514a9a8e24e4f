"""Drives a gateway with the official openai package and prints what came of it as one JSON object."""

import base64
import json
import struct
import sys

from openai import NotFoundError, OpenAI

base_url, model, question = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key="unused", max_retries=0, timeout=60)
asked = {"model": model, "temperature": 0, "messages": [{"role": "user", "content": question}], "max_tokens": 100}
seen = {"models": [one.id for one in client.models.list()]}

whole = client.chat.completions.create(**asked)
seen["whole"] = whole.choices[0].message.content
seen["finish"] = whole.choices[0].finish_reason
seen["usage_adds_up"] = whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens

chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
seen["streamed"] = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
seen["usage_last"] = chunks[-1].choices == []
seen["counted"] = [whole.usage.completion_tokens, chunks[-1].usage.completion_tokens]

logprobs = client.chat.completions.create(**{**asked, "max_tokens": 3}, logprobs=True, top_logprobs=2)
said = logprobs.choices[0]
seen["logprobs"] = [len(one.top_logprobs) for one in said.logprobs.content]
seen["logprobs_of_text"] = "".join(one.token for one in said.logprobs.content) == said.message.content

schema = {
    "type": "object",
    "properties": {"kind": {"enum": ["hop", "stage"]}, "sure": {"type": "boolean"}},
    "required": ["kind", "sure"],
    "additionalProperties": False,
}
formatted = client.chat.completions.create(
    **asked, response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
)
seen["json"] = json.loads(formatted.choices[0].message.content)

weather = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
tools = [{"type": "function", "function": weather}]
called = client.chat.completions.create(**asked, tools=tools, tool_choice="required", parallel_tool_calls=False)
message = called.choices[0].message
call = message.tool_calls[0]
seen["called"] = [called.choices[0].finish_reason, call.function.name, sorted(json.loads(call.function.arguments))]
turns = [*asked["messages"], message, {"role": "tool", "tool_call_id": call.id, "content": "7 degrees"}]
after = client.chat.completions.create(**{**asked, "messages": turns, "max_tokens": 16}, tools=tools)
seen["after_call"] = after.choices[0].finish_reason

request = {"model": model, "input": question, "temperature": 0, "max_output_tokens": 100}
written = client.responses.create(**request)
parts = client.responses.create(**request, stream=True)
seen["response"] = written.output_text
seen["response_streamed"] = "".join(one.delta for one in parts if one.type == "response.output_text.delta")

texts = ["A hop.", "A stage."]
floats = client.embeddings.create(model=model, input=texts, encoding_format="float")
packed = client.embeddings.create(model=model, input=texts[0], encoding_format="base64").data[0].embedding
values = [one[0] for one in struct.iter_unpack("<f", base64.b64decode(packed))]
seen["embeddings"] = [round(sum(value * value for value in one.embedding), 4) for one in floats.data]
seen["base64_is_float"] = max(abs(a - b) for a, b in zip(values, floats.data[0].embedding)) < 1e-3

with client.chat.completions.create(**asked, stream=True) as stream:
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
seen["aborted"] = True

try:
    client.chat.completions.create(**{**asked, "model": "nobody"})
except NotFoundError as error:
    seen["unknown"] = [error.code, error.param]
print(json.dumps(seen))

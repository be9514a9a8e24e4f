import { randomBytes } from 'node:crypto';
import { asGatewayError } from '../gatewayError.ts';
import type { ChoiceEvent } from '../generateChoices.ts';
import type { AnswerHead } from '../openai/chatAnswer.ts';
import { type ChatLogprob, chatLogprob } from '../openai/chatAnswer.ts';
import type { TextEvent, TextToken, TextUsage } from '../textRequest.ts';
import type { ResponseEcho } from './responseBody.ts';

type Status = 'in_progress' | 'completed' | 'incomplete';

interface OutputLogprob extends ChatLogprob {
  top_logprobs: ChatLogprob[];
}

interface OutputText {
  type: 'output_text';
  text: string;
  annotations: [];
  logprobs: OutputLogprob[];
}

type OutputItem =
  | { type: 'message'; id: string; role: 'assistant'; status: Status; content: OutputText[] }
  | { type: 'reasoning'; id: string; status: Status; summary: []; content: { type: 'reasoning_text'; text: string }[] }
  | { type: 'function_call'; id: string; status: Status; call_id: string; name: string; arguments: string };

/** An event of the Responses API; `type` says which fields it has. */
export interface ResponseEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}

/** An answer in the shape of OpenAI's Responses API, as it grows. */
export class ResponseStream {
  readonly #head: AnswerHead;
  readonly #echo: ResponseEcho;
  readonly #logprobs: boolean;
  readonly #output: OutputItem[] = [];
  #sequence = 0;
  /** The item that still grows is the last. */
  #open = false;

  constructor(head: AnswerHead, echo: ResponseEcho, { logprobs }: { logprobs: boolean }) {
    this.#head = head;
    this.#echo = echo;
    this.#logprobs = logprobs;
  }

  /** The events in the order of OpenAI's: created, in_progress, each item from added to done, and completed or incomplete. */
  async *events(source: AsyncIterable<ChoiceEvent>): AsyncGenerator<ResponseEvent> {
    yield this.#event('response.created', { response: this.#response('in_progress') });
    yield this.#event('response.in_progress', { response: this.#response('in_progress') });
    for await (const { event } of source) {
      if (event.kind === 'end') yield* this.#end(event);
      else yield* this.#part(event);
    }
  }

  /** The answer without its events. */
  async whole(source: AsyncIterable<ChoiceEvent>): Promise<object> {
    let last: ResponseEvent | null = null;
    for await (const event of this.events(source)) last = event;
    if (typeof last?.response !== 'object' || last.response === null)
      throw new Error('An answer ended without its end.');
    return last.response;
  }

  /** The last event of an answer that has failed. */
  failure(error: unknown): ResponseEvent {
    const { message, code } = asGatewayError(error);
    const failed = { code: code ?? 'server_error', message };
    return this.#event('response.failed', { response: this.#response('failed', { error: failed }) });
  }

  *#part(event: Exclude<TextEvent, { kind: 'end' }>): Generator<ResponseEvent> {
    switch (event.kind) {
      case 'reasoning':
        yield* this.#growReasoning(event.text);
        break;
      case 'text':
        if (event.text !== '' || event.tokens.length > 0) yield* this.#growText(event.text, event.tokens);
        break;
      case 'call': {
        yield* this.#close('completed');
        const { id: call_id, name } = event;
        yield* this.#add({
          type: 'function_call',
          id: itemId('fc'),
          status: 'in_progress',
          call_id,
          name,
          arguments: '',
        });
        break;
      }
      case 'arguments': {
        const item = this.#output.at(-1);
        if (item?.type !== 'function_call') break;
        item.arguments += event.text;
        yield this.#event('response.function_call_arguments.delta', { ...this.#place(item), delta: event.text });
        break;
      }
    }
  }

  *#growReasoning(text: string): Generator<ResponseEvent> {
    let item = this.#open ? this.#output.at(-1) : undefined;
    if (item?.type !== 'reasoning') {
      yield* this.#close('completed');
      item = { type: 'reasoning', id: itemId('rs'), status: 'in_progress', summary: [], content: [] };
      yield* this.#add(item);
      const part = { type: 'reasoning_text' as const, text: '' };
      item.content.push(part);
      yield this.#event('response.content_part.added', { ...this.#place(item), content_index: 0, part: { ...part } });
    }
    const [part] = item.content;
    if (part !== undefined) part.text += text;
    yield this.#event('response.reasoning_text.delta', { ...this.#place(item), content_index: 0, delta: text });
  }

  *#growText(text: string, tokens: readonly TextToken[]): Generator<ResponseEvent> {
    let item = this.#open ? this.#output.at(-1) : undefined;
    if (item?.type !== 'message') {
      yield* this.#close('completed');
      item = { type: 'message', id: itemId('msg'), role: 'assistant', status: 'in_progress', content: [] };
      yield* this.#add(item);
      const part: OutputText = { type: 'output_text', text: '', annotations: [], logprobs: [] };
      item.content.push(part);
      yield this.#event('response.content_part.added', {
        ...{ ...this.#place(item), content_index: 0, part: { ...part, logprobs: [] } },
      });
    }
    const logprobs = this.#logprobs ? tokens.map(outputLogprob) : [];
    const [part] = item.content;
    if (part !== undefined) {
      part.text += text;
      part.logprobs.push(...logprobs);
    }
    yield this.#event('response.output_text.delta', { ...this.#place(item), content_index: 0, delta: text, logprobs });
  }

  *#end({ reason, usage }: Extract<TextEvent, { kind: 'end' }>): Generator<ResponseEvent> {
    const isCut = reason === 'length';
    // An answer without a word is a message all the same.
    if (this.#output.every(({ type }) => type === 'reasoning') && !isCut) yield* this.#growText('', []);
    yield* this.#close(isCut ? 'incomplete' : 'completed');
    const status = isCut ? 'incomplete' : 'completed';
    const more = {
      usage: responseUsage(usage),
      ...(isCut ? { incomplete_details: { reason: 'max_output_tokens' } } : {}),
    };
    yield this.#event(`response.${status}`, { response: this.#response(status, more) });
  }

  *#add(item: OutputItem): Generator<ResponseEvent> {
    this.#output.push(item);
    this.#open = true;
    yield this.#event('response.output_item.added', {
      output_index: this.#output.length - 1,
      item: structuredClone(item),
    });
  }

  *#close(status: Status): Generator<ResponseEvent> {
    const item = this.#open ? this.#output.at(-1) : undefined;
    if (item === undefined) return;
    const place = this.#place(item);
    if (item.type === 'function_call') {
      const { name, arguments: text } = item;
      yield this.#event('response.function_call_arguments.done', { ...place, name, arguments: text });
    } else {
      const [part] = item.content;
      if (part !== undefined) {
        const done = { ...place, content_index: 0 };
        if (part.type === 'output_text') {
          const { text, logprobs } = part;
          yield this.#event('response.output_text.done', { ...done, text, logprobs });
        } else yield this.#event('response.reasoning_text.done', { ...done, text: part.text });
        yield this.#event('response.content_part.done', { ...done, part });
      }
    }
    item.status = status;
    this.#open = false;
    yield this.#event('response.output_item.done', { output_index: place.output_index, item });
  }

  #place(item: OutputItem): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.#output.length - 1 };
  }

  #event(type: string, fields: object): ResponseEvent {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return { type, sequence_number, ...fields };
  }

  #response(status: Status | 'failed', more: object = {}): object {
    const { id, created, model, service_tier } = this.#head;
    return {
      ...{
        id,
        object: 'response',
        created_at: created,
        status,
        background: false,
        error: null,
        incomplete_details: null,
      },
      ...this.#echo,
      ...{
        model,
        output: structuredClone(this.#output),
        previous_response_id: null,
        service_tier: service_tier ?? 'default',
      },
      ...{ store: false, truncation: 'disabled', usage: null, user: null },
      ...(status === 'completed' ? { completed_at: Math.floor(Date.now() / 1000) } : {}),
      ...more,
    };
  }
}

function responseUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: TextUsage): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens ?? 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}

function outputLogprob(token: TextToken): OutputLogprob {
  return { ...chatLogprob(token), top_logprobs: token.top.map(chatLogprob) };
}

function itemId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}

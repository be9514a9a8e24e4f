import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greedySampling } from '../pipeline/sampling/plainSampling.ts';
import type { ServedModel } from '../pipeline/serving/servedModel.ts';
import { generateText } from './generateText.ts';
import { demoModel } from './testing/demoGateway.ts';
import type { WholeModel } from './testing/wholeModel.ts';
import { plainShape, type TextEvent } from './textRequest.ts';

let demo: WholeModel;
let byteTokens: number[];
beforeAll(async () => {
  demo = await demoModel();
  const { bytes, offsets } = demo.pieces;
  byteTokens = Array.from({ length: 256 }, (_, byte) =>
    offsets.findIndex((start, id) => offsets[id + 1] === start + 1 && bytes[start] === byte),
  );
});
afterAll(() => demo.dispose());

/** The demo vocabulary, saying `tokens` whatever it is asked. */
function saying(tokens: readonly number[]): ServedModel {
  return {
    ...demo,
    generate: async function* ({ maxTokens }) {
      for (const id of tokens.slice(0, maxTokens)) yield { id, logprob: null, top: [] };
    },
  };
}

async function read(model: ServedModel, maxTokens: number, stop: string[] = []): Promise<TextEvent[]> {
  const asked = { model, prompt: '', shape: plainShape, bulk: false, stop };
  const request = { ...asked, maxTokens, sampling: greedySampling, seed: 1 };
  const events: TextEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of generateText({ request, promptTokens: [1, 2, 3], maxTokens, seed: 1 }, signal)) {
    events.push(event);
  }
  return events;
}

const textOf = (events: TextEvent[]): string[] => events.flatMap((event) => (event.kind === 'text' ? event.text : []));

describe('generateText', () => {
  it('shows whole characters only, also where each byte is a token and where the length ends within one', async () => {
    const characters = fc.string({ unit: fc.constantFrom('😀', '漢', 'é', '👩‍🚀', 'a', 'stop'), maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(characters, fc.nat(60), async (text, maxTokens) => {
        const bytes = [...Buffer.from(text, 'utf8')];
        const events = await read(saying(bytes.map((byte) => byteTokens[byte] ?? -1)), maxTokens, ['stop']);
        const shown = textOf(events).join('');
        const whole = new TextDecoder('utf-8').decode(Uint8Array.from(bytes.slice(0, maxTokens)), { stream: true });
        expect(shown).toBe(whole.split('stop')[0]);
        expect(shown).not.toContain('\ufffd');
        expect(events.at(-1)).toMatchObject({
          kind: 'end',
          reason: whole.includes('stop') ? 'stop' : 'length',
          usage: { promptTokens: 3 },
        });
      }),
      { numRuns: 300 },
    );
  });

  it('counts the end token, shows no text of it, and takes nothing after it', async () => {
    const [end] = demo.endTokens;
    const letter = byteTokens[97] ?? -1;
    const events = await read(saying([letter, end ?? -1, letter]), 10);
    expect(events).toEqual([
      { kind: 'text', text: 'a', tokens: [] },
      {
        kind: 'end',
        reason: 'stop',
        usage: { promptTokens: 3, cachedTokens: null, completionTokens: 2, reasoningTokens: 0 },
      },
    ]);
  });

  it('releases what could have become a stop string when the answer ends', async () => {
    const tokens = [...'abc'].map((letter) => byteTokens[letter.charCodeAt(0)] ?? -1);
    expect(textOf(await read(saying(tokens), 3, ['bcd']))).toEqual(['a', 'bc']);
  });
});

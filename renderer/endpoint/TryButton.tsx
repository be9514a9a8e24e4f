import { useState } from 'react';
import { lineOf } from '../controls/lineOf.ts';

interface Outcome {
  ok: boolean;
  text: string;
}

/** Asks the endpoint for a few tokens, as any client would, and says what came back and how long it took. */
export function TryButton({ model }: { model: string }) {
  const [outcome, setOutcome] = useState<Outcome | 'busy' | null>(null);
  const run = () => {
    setOutcome('busy');
    tryEndpoint(model).then(
      (text) => setOutcome({ ok: true, text }),
      (cause: unknown) => setOutcome({ ok: false, text: lineOf(cause) }),
    );
  };
  return (
    <div className="try">
      <button type="button" className="button" disabled={model === '' || outcome === 'busy'} onClick={run}>
        {outcome === 'busy' ? 'Asking …' : 'Try it'}
      </button>
      <p
        className="notice"
        data-tone={outcome !== null && outcome !== 'busy' && !outcome.ok ? 'problem' : undefined}
        role="status"
      >
        {outcome === null || outcome === 'busy'
          ? model === ''
            ? 'Serve a model first, then try it here.'
            : `Asks ${model} for a few tokens.`
          : outcome.text}
      </p>
    </div>
  );
}

interface Completion {
  choices?: { message?: { content?: string | null } }[];
  error?: { message?: string };
}

async function tryEndpoint(model: string): Promise<string> {
  const began = performance.now();
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 16, messages: [{ role: 'user', content: 'What is a hop?' }] }),
  });
  const answer: Completion = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? `The member answered with status ${response.status}.`);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return `It works: “${answer.choices?.[0]?.message?.content?.trim() ?? ''} …” after ${seconds} s.`;
}

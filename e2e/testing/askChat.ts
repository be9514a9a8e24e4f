import { z } from 'zod';

const answerSchema = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) });

/** The greedy answer of a gateway to one question. Throws what the gateway says instead. */
export async function askChat(gateway: string, model: string, question: string): Promise<string> {
  const response = await fetch(`${gateway}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, temperature: 0, messages: [{ role: 'user', content: question }] }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return answerSchema.parse(JSON.parse(text)).choices[0].message.content;
}

/** The answers to all questions, in order, `atOnce` of them under way. */
export async function askAll(
  gateway: string,
  model: string,
  questions: readonly string[],
  atOnce: number,
): Promise<string[]> {
  const answers: string[] = [];
  const left = [...questions.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, question] = next;
      answers[index] = await askChat(gateway, model, question);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return answers;
}

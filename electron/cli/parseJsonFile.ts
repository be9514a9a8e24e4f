import { readFile } from 'node:fs/promises';
import type { z } from 'zod';

const missing = 'is missing';

/** How zod is to say what is wrong: in words for people. */
export const plainWords: z.core.ParseContext<z.core.$ZodIssue> = {
  error: ({ input }) => (input === undefined ? missing : undefined),
};

/** Reads a JSON file and checks it. Throws an error of one line that names the file and the field. */
export async function parseJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const isAbsent = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    throw new Error(isAbsent ? `${path} does not exist.` : `${path} cannot be read: ${String(cause)}`, { cause });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  const parsed = schema.safeParse(value, plainWords);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${String(key)}`),
    '',
  );
  const problem = issue?.message ?? 'not as expected';
  const where = field ? `${field}${problem === missing ? '' : ':'} ` : '';
  throw new Error(`${path}: ${where}${problem}`, { cause: parsed.error });
}

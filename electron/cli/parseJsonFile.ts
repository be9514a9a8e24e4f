import { readFile } from 'node:fs/promises';
import type { z } from 'zod';

const missing = 'is missing';

/** How zod is to say what is wrong: in words for people, with what was found. */
export const plainWords: z.core.ParseContext<z.core.$ZodIssue> = {
  error: (issue) => (issue.input === undefined ? missing : wordsFor(issue)),
};

const kinds: Partial<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  const found = shown(issue.input);
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}, not ${found}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}, not ${found}`;
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      if (issue.origin === 'array') return 'must not be an empty list';
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}, not ${found}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}, not ${found}`;
    default:
      return undefined;
  }
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value);
}

/** What to do about a file that cannot be read. */
function unreadable(path: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (code === 'ENOENT') return `${path} does not exist.`;
  if (code === 'EISDIR') return `${path} is a folder; name a JSON file.`;
  if (code === 'EACCES') return `${path} may not be read: change its permissions.`;
  return `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/** Reads a JSON file and checks it. Throws an error of one line that names the file and the field. */
export async function parseJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(unreadable(path, cause), { cause });
  });
  if (text.trim() === '') throw new Error(`${path} is empty.`);
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
  const where = field ? `${field} ` : '';
  throw new Error(`${path}: ${where}${problem}`, { cause: parsed.error });
}

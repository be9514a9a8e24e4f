import type { z } from 'zod';
import { invalidField } from './gatewayError.ts';

/** Levels of arrays and objects within a field. */
const DEEPEST = 512;

/**
 * Reads a body by its schema, or what stands at `place` in it.
 *
 * @throws GatewayError 400 that names the first field at fault as a dotted path (`messages.0.role`).
 */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown, place: readonly string[] = []): T {
  const deep = deepField(body);
  if (deep !== null) throw invalidField(deep, `${deep} is nested deeper than ${DEEPEST} levels.`);
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { path: inner, message } = firstFault(result.error.issues);
  const path = [...place, ...inner];
  const param = path.length === 0 ? null : path.join('.');
  throw invalidField(param, param === null ? `The body is wrong: ${message}.` : `${param}: ${message}.`);
}

/** The field of a body that is nested deeper than recursion should go; null where none is. */
function deepField(body: unknown): string | null {
  const fields: [string, unknown][] = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const deep = fields.find(([, value]) => {
    let level: unknown[] = [value];
    for (let depth = 1; level.length > 0; depth += 1) {
      if (depth > DEEPEST) return true;
      level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    }
    return false;
  });
  return deep?.[0] ?? null;
}

interface Fault {
  path: PropertyKey[];
  message: string;
}

/** Of the branches of a union the one that got furthest is the one that was meant. */
function firstFault(issues: readonly z.core.$ZodIssue[]): Fault {
  const [issue] = issues;
  if (issue === undefined) return { path: [], message: 'Invalid input' };
  if (issue.code !== 'invalid_union') return { path: issue.path, message: issue.message };
  const branches = issue.errors.map(firstFault).sort((a, b) => b.path.length - a.path.length);
  const [deepest] = branches;
  if (deepest === undefined || deepest.path.length === 0) {
    const expected = branches.map((branch) => branch.message.replace(/^Invalid input: expected /, ''));
    return { path: issue.path, message: expected.length === 0 ? issue.message : `Expected ${expected.join(', or ')}` };
  }
  return { path: [...issue.path, ...deepest.path], message: deepest.message };
}

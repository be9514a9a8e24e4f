interface JsonRule {
  body: string;
  needs: readonly JsonRuleName[];
}
export type JsonRuleName =
  | 'value'
  | 'object'
  | 'array'
  | 'string'
  | 'char'
  | 'number'
  | 'magnitude'
  | 'integer'
  | 'space'
  | 'date'
  | 'time'
  | 'date-time'
  | 'uuid'
  | 'day'
  | 'clock';

/** Rules of JSON (RFC 8259) and of formats, by name, with those that they need. */
export const jsonRules: Record<JsonRuleName, JsonRule> = {
  value: {
    body: 'object | array | string | number | "true" | "false" | "null"',
    needs: ['object', 'array', 'string', 'number'],
  },
  object: {
    body: '"{" space (string ":" space value ("," space string ":" space value)* space)? "}"',
    needs: ['space', 'string', 'value'],
  },
  array: { body: '"[" space (value ("," space value)* space)? "]"', needs: ['space', 'value'] },
  string: { body: '"\\"" char* "\\""', needs: ['char'] },
  // Escaped surrogates are left out: alone they are no character, and in pairs two of these would be one.
  char: {
    body: String.raw`[^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cefA-CEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))`,
    needs: [],
  },
  number: { body: '"-"? magnitude', needs: ['magnitude'] },
  magnitude: {
    body: '("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?',
    needs: [],
  },
  integer: { body: '"0" | "-"? [1-9] [0-9]{0,14}', needs: [] },
  space: { body: '| " " | "\\n" [ \\t]{0,20}', needs: [] },
  // The 29th to 31st only where every month and year has them: a value that is none would break the schema.
  day: { body: '"0" [1-9] | "1" [0-9] | "2" [0-8]', needs: [] },
  date: { body: '"\\"" [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" (day) "\\""', needs: ['day'] },
  clock: {
    body: '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,3})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])',
    needs: [],
  },
  time: { body: '"\\"" clock "\\""', needs: ['clock'] },
  'date-time': {
    body: '"\\"" [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" (day) "T" clock "\\""',
    needs: ['day', 'clock'],
  },
  uuid: {
    body: '"\\"" [0-9a-f]{8} "-" [0-9a-f]{4} "-" [1-8] [0-9a-f]{3} "-" [89ab] [0-9a-f]{3} "-" [0-9a-f]{12} "\\""',
    needs: [],
  },
};

/** A GBNF literal for exactly this text. */
export function literal(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&').replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

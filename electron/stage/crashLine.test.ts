import { expect, test } from 'vitest';
import { crashLine } from './crashLine.ts';

test('an uncaught error is told, not the version that Node prints last', () => {
  const stderr = `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/nowhere.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
`;
  expect(crashLine(stderr)).toBe("Error: Cannot find module '/nowhere.js'");
});

test('an assertion of ggml is told, not the frames below it', () => {
  const stderr = `some earlier line
/src/ggml.c:3000: GGML_ASSERT(a->ne[0] == b->ne[0]) failed
[New LWP 12]
#0  0x00007f in wait4 () from /lib/libc.so.6
#1  0x00007f in ggml_abort () from libggml-base.so
`;
  expect(crashLine(stderr)).toBe('/src/ggml.c:3000: GGML_ASSERT(a->ne[0] == b->ne[0]) failed');
});

test('without a telling line the last one has to do, and silence is null', () => {
  expect(crashLine('one\ntwo  \n\n')).toBe('two');
  expect(crashLine(' \n')).toBeNull();
});

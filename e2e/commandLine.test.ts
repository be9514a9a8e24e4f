import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const TOKEN = 'roomful1:a-token-that-nobody-else-may-see';
const roomful = fileURLToPath(new URL('../dist/electron/cli/main.js', import.meta.url));

test('--version prints that of the package', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [roomful, '--version']);
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(stdout).toBe(`roomful ${version}\n`);
});

test('a reader that leaves, as head does, ends a command without a word', async () => {
  const command = spawn(process.execPath, [roomful, 'help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  // Before the command has begun to write.
  command.stdout.destroy();
  const [said, [code]] = await Promise.all([text(command.stderr), once(command, 'exit')]);
  expect({ said, code }).toEqual({ said: '', code: 0 });
});

describe('a token to join with', () => {
  let home: string;
  /** Stands where the member's gateway would, and holds the answer back until the command has been looked at. */
  const gateway = createServer();

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'roomful-command-'));
    gateway.listen(0, '127.0.0.1');
    await once(gateway, 'listening');
    const address = gateway.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await writeFile(join(home, 'gateway.json'), JSON.stringify({ gateway: `http://127.0.0.1:${port}` }));
    await writeFile(join(home, 'local-token'), 'local');
  });

  afterAll(async () => {
    gateway.close();
    await rm(home, { recursive: true, force: true });
  });

  async function joining(args: string[], input: string) {
    const command = spawn(process.execPath, [roomful, 'join', ...args, '--home', home]);
    command.stdin.end(input);
    const asked = once(gateway, 'request') as Promise<[IncomingMessage, ServerResponse]>;
    const [request, response] = await asked;
    const body = await json(request);
    const seen = process.platform === 'linux' ? readFileSync(`/proc/${command.pid}/cmdline`, 'utf8') : '';
    response.end(JSON.stringify({ pool: { name: 'Attic' } }));
    const [code] = await once(command, 'exit');
    return { body, seen, code };
  }

  test('a command that follows a member that is killed says in one line that it has ended', async () => {
    const command = spawn(process.execPath, [roomful, 'members', '--watch', '--json', '--home', home]);
    const [request, response] = (await once(gateway, 'request')) as [IncomingMessage, ServerResponse];
    expect(request.url).toBe('/api/watch');
    response.write('[]\n');
    await once(command.stdout, 'data');
    response.destroy();
    const [said, [code]] = await Promise.all([text(command.stderr), once(command, 'exit')]);
    expect({ said, code }).toEqual({ said: 'roomful: The member has ended.\n', code: 1 });
  });

  test.each([
    ['asked for', [], `${TOKEN}\n`],
    ['read from standard input', ['-'], TOKEN],
    ['an argument', [TOKEN], ''],
  ])('that is %s is in no arguments of the command', async (_how, args, input) => {
    const { body, seen, code } = await joining(args, input);
    expect(body).toEqual({ token: TOKEN });
    expect(seen).not.toContain('a-token');
    expect(code).toBe(0);
  });

  test('is missed in one line', async () => {
    const none = spawn(process.execPath, [roomful, 'join', '--home', home]);
    none.stdin.end('\n');
    const said = none.stderr.setEncoding('utf8').toArray();
    expect((await once(none, 'exit'))[0]).toBe(1);
    expect((await said).join('')).toBe('roomful: Give the token that `roomful invite` printed.\n');
  });
});

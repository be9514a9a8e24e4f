import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { planCommand } from './plan.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const demo = join(root, 'resources', 'demo', 'demo.gguf');
const folder = mkdtempSync(join(tmpdir(), 'roomful-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function fileWith(value: unknown): string {
  files += 1;
  const path = join(folder, `${files}.json`);
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
}

/** What the command prints. */
async function printed(...args: string[]): Promise<string> {
  const chunks: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    chunks.push(String(chunk));
    return true;
  });
  try {
    await planCommand().exitOverride().parseAsync(args, { from: 'user' });
  } finally {
    write.mockRestore();
  }
  return chunks.join('');
}

const gb = (address: string, size: number, more: object = {}) => ({
  address,
  vram_gb: size,
  backend: 'Cuda',
  llama_commit: 'c1',
  ...more,
});

interface Case {
  name: string;
  params: {
    model: unknown;
    members: unknown;
    user_forced: boolean;
    policy?: string;
    reference_commit?: string;
  };
  expect: Record<string, unknown> & { pipelines?: number; missing_gb?: number };
}

describe('a compact shape', () => {
  const { cases }: { cases: Case[] } = JSON.parse(
    readFileSync(join(root, 'electron', 'planner', 'scenarios', 'compact.json'), 'utf8'),
  );

  test.each(cases)('$name is answered as JSON', async ({ params, expect: expected }) => {
    const { pipelines, missing_gb: _, ...rest } = expected;
    const flags = [
      ...(params.policy === undefined ? [] : ['--policy', params.policy]),
      ...(params.reference_commit === undefined ? [] : ['--reference-commit', params.reference_commit]),
      ...(params.user_forced ? ['--force', 'cluster'] : []),
    ];
    const files = ['--model', fileWith(params.model), '--members', fileWith(params.members)];
    const answer = JSON.parse(await printed(...files, ...flags, '--json'));
    expect(answer).toMatchObject(rest);
    if (pipelines !== undefined) expect(answer.pipelines).toHaveLength(pipelines);
  });

  test('the same plan as a table', async () => {
    const shape = fileWith({ layers: 80, hidden_dim: 8192, total_vram_gb: 140 });
    const members = fileWith([gb('a1', 80), gb('b2', 80)]);
    expect(await printed('--model', shape, '--members', members)).toBe(
      [
        'ClusterRequired, 1 hop',
        '',
        'member  layers',
        '------  ------',
        'a1        0-39',
        'b2       40-79',
        '',
        '- The model takes 140.0 GB in 80 layers.',
        '- No member can hold it alone; the largest, a1, has room for 80.0 GB.',
        '- Everyone takes layers by memory: a1 layers 0 to 39, b2 layers 40 to 79. That is 1 hop.',
        '',
      ].join('\n'),
    );
  });

  test('honours what the file says of the state of members, and of their links', async () => {
    const shape = fileWith({ layers: 40, hidden_dim: 8, total_vram_gb: 40 });
    const members = [
      gb('a1', 24),
      gb('b2', 24),
      gb('c3', 24),
      gb('d4', 24, { paused: true }),
      gb('e5', 24, { stale: true }),
    ];
    const ways = [
      ['a1', 'b2'],
      ['b2', 'c3'],
    ] as const;
    const links = ways.flatMap(([from, to]) =>
      [
        { from, to },
        { from: to, to: from },
      ].map((pair) => ({ ...pair, rttMs: 40, reachability: 'RelayOnly' })),
    );
    const answer = JSON.parse(await printed('--model', shape, '--members', fileWith({ members, links }), '--json'));
    expect(answer.rejected).toEqual([
      { address: 'b2', reason: { kind: 'NotDataPlaneReachable', reachability: 'RelayOnly' } },
      { address: 'd4', reason: { kind: 'Paused' } },
      { address: 'e5', reason: { kind: 'Stale' } },
    ]);
    expect(answer.stages.map(({ address }: { address: string }) => address)).toEqual(['a1', 'c3']);
  });

  test('says what it has no use for', async () => {
    const complaints = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const shape = fileWith({ layers: 4, hidden_dim: 8, total_vram_gb: 10 });
      await printed('--model', shape, '--members', fileWith([gb('a1', 24, { host_memory_gb: 8, bandwidth_gb_s: 9 })]));
      expect(complaints.mock.calls.map(([line]) => line)).toEqual([
        'roomful: a compact shape counts memory alone; ignored of the members: speeds, plain RAM beside a card.\n',
      ]);
    } finally {
      complaints.mockRestore();
    }
  });

  test('one member, where one is forced', async () => {
    const shape = fileWith({ layers: 40, hidden_dim: 8, total_vram_gb: 40 });
    const members = fileWith([gb('a1', 24), gb('b2', 24)]);
    const answer = JSON.parse(await printed('--model', shape, '--members', members, '--force', 'single', '--json'));
    expect(answer).toMatchObject({ fit: 'DoesNotFit', stages: [] });
  });
});

describe('a GGUF', () => {
  const members = () => fileWith({ members: [gb('a1', 0.03, { name: 'ada' }), gb('b2', 0.03)], coordinator: 'b2' });

  test('is planned from its header, fewest hops first', async () => {
    const larger = ['--context', '2048', '--slots', '8', '--json'];
    const answer = JSON.parse(await printed('--model', demo, '--members', members(), ...larger));
    expect(answer).toMatchObject({ fit: 'DoesNotFit', policy: 'hop-minimal', coordinator: 'b2' });
    expect(answer.shortfall.missingBytes).toBeGreaterThan(0);
    const smaller = ['--context', '64', '--slots', '2', '--json'];
    const fits = JSON.parse(await printed('--model', demo, '--members', members(), ...smaller));
    expect(fits).toMatchObject({ fit: 'RunLocal', pipelines: [{ stages: [{ startLayer: 0, endLayer: 12 }] }, {}] });
  });

  test('is a table that names the members', async () => {
    const small = ['--context', '64', '--slots', '2', '--force', 'cluster', '--policy', 'proportional'];
    const table = await printed('--model', demo, '--members', members(), ...small);
    expect(table).toMatch(/^ClusterForced, 1 hop\n\nCluster: pipeline-parallel across 2 nodes/);
    expect(table).toMatch(/\nada +0-5 /);
    expect(table).toMatch(/- One member would do, but a cluster was asked for\./);
    expect(table).toMatch(/- Predicted: \d/);
  });
});

describe('choices', () => {
  const room = () =>
    fileWith({
      members: ['a1', 'b2', 'c3'].map((address) => gb(address, 1, { host_memory_gb: 1 })),
      coordinator: 'a1',
    });
  const planned = async (...flags: string[]) =>
    JSON.parse(await printed('--model', demo, '--members', room(), '--context', '64', ...flags, '--json'));
  const placed = ({ pipelines }: { pipelines: { stages: { address: string }[] }[] }) =>
    pipelines.map(({ stages }) => stages.map(({ address }) => address));

  test('of members: only these, in this order, or not these', async () => {
    const fixed = await planned('--only', 'c3,b2', '--force', 'cluster', '--policy', 'proportional');
    expect(placed(fixed)).toEqual([['c3', 'b2']]);
    expect(placed(await planned('--exclude', 'a1,c3'))).toEqual([['b2']]);
  });

  test('of the number of pipelines', async () => {
    expect(placed(await planned())).toHaveLength(3);
    expect(placed(await planned('--max-replicas', '2'))).toHaveLength(2);
    const four = await planned('--replicas', '4');
    expect(four.explain).toContain('4 pipelines asked for; the members suffice for 3.');
  });

  test('of the leader, the KV cache, the prompt and the wire', async () => {
    expect(await planned('--coordinator', 'c3')).toMatchObject({ coordinator: 'c3' });
    const kvOf = async (...flags: string[]) => (await planned(...flags)).pipelines[0].stages[0].bytes.kv;
    expect(await kvOf('--kv-type', 'q8_0')).toBeLessThan(await kvOf());
    expect((await planned('--prompt-tokens', '77')).prediction.promptTokens).toBe(77);
    const plain = await planned();
    expect((await planned('--exact')).activationBytesPerToken).toBe(2 * plain.activationBytesPerToken);
  });

  test('of plain RAM, and measured stage times from the file', async () => {
    const small = fileWith({
      members: [gb('a1', 0.005, { host_memory_gb: 1 })],
      measured: [{ address: 'a1', startLayer: 0, endLayer: 12, ms: 40 }],
    });
    const args = ['--model', demo, '--members', small, '--context', '64', '--slots', '1', '--json'];
    const offload = JSON.parse(await printed(...args));
    expect(offload.pipelines[0].prediction.stages).toEqual([{ address: 'a1', ms: 40 }]);
    expect(JSON.parse(await printed(...args, '--plain-ram', 'never')).fit).toBe('DoesNotFit');
  });

  test('in the compact form too', async () => {
    const shape = fileWith({ layers: 40, hidden_dim: 8, total_vram_gb: 20 });
    const members = fileWith(['a1', 'b2', 'c3'].map((address) => gb(address, 24)));
    const compact = async (...flags: string[]) =>
      placed(JSON.parse(await printed('--model', shape, '--members', members, ...flags, '--json')));
    expect(await compact('--only', 'c3,a1', '--force', 'cluster')).toEqual([['c3', 'a1']]);
    expect(await compact('--exclude', 'a1', '--policy', 'hop-minimal')).toEqual([['b2'], ['c3']]);
    expect(await compact('--policy', 'hop-minimal', '--max-replicas', '2')).toHaveLength(2);
    expect(await compact('--replicas', '3')).toHaveLength(3);
  });
});

describe('a full shape', () => {
  test('is planned like a GGUF, with members as the planner spells them', async () => {
    const layer = { weightBytes: 1e9, kvBytesPerToken: 4096 };
    const shape = {
      name: 'Shape',
      hiddenSize: 4096,
      vocabularySize: 32_000,
      contextLength: 4096,
      layers: Array.from({ length: 8 }, () => layer),
      embeddingBytes: 1e8,
      outputBytes: 1e8,
      cutPoints: [2, 4, 6],
    };
    const members = [
      { address: 'a1', memoryBytes: 6e9, backend: 'Metal', build: 'c1', bandwidth: 4e11 },
      { address: 'b2', memoryBytes: 6e9, backend: 'Cuda', build: 'c1' },
    ];
    const links = [{ from: 'a1', to: 'b2', rttMs: 2, bytesPerSecond: 1e8 }];
    const args = ['--model', fileWith(shape), '--members', fileWith({ members, links }), '--json'];
    const answer = JSON.parse(await printed(...args));
    expect(answer).toMatchObject({ fit: 'ClusterRequired', hops: 1, runMode: { kind: 'Pipeline' } });
    for (const { startLayer } of answer.pipelines[0].stages) expect([0, 2, 4, 6]).toContain(startLayer);
  });
});

describe('bad input is one line that names it', () => {
  const shape = fileWith({ layers: 4, hidden_dim: 8, total_vram_gb: 10 });
  const members = fileWith([gb('a1', 8)]);

  test.each([
    {
      what: 'a missing file',
      args: ['--model', 'nowhere.json', '--members', members],
      line: /nowhere\.json does not exist/,
    },
    { what: 'no JSON', args: ['--model', fileWith('{'), '--members', members], line: /is not JSON: / },
    { what: 'no GGUF', args: ['--model', join(root, 'LICENSE'), '--members', members], line: /LICENSE is not a GGUF/ },
    {
      what: 'a shape without layers',
      args: ['--model', fileWith({ layers: 0, hidden_dim: 8, total_vram_gb: 1 }), '--members', members],
      line: /\d\.json: layers must be at least 1/,
    },
    {
      what: 'a full shape without sizes',
      args: ['--model', fileWith({ layers: [{}] }), '--members', members],
      line: /: hiddenSize is missing$/,
    },
    {
      what: 'a member without memory',
      args: ['--model', shape, '--members', fileWith([gb('a1', 0)])],
      line: /members\[0\]\.vram_gb must be at /,
    },
    {
      what: 'an unknown backend',
      args: ['--model', shape, '--members', fileWith([gb('a1', 4, { backend: 'Abacus' })])],
      line: /members\[0\]\.backend must be one of Cuda, .*, Cpu, not "Abacus"$/,
    },
    {
      what: 'one address twice',
      args: ['--model', shape, '--members', fileWith([gb('a1', 4), gb('a1', 4)])],
      line: /members\[1\]\.address is a1, which members\[0\] has/,
    },
    {
      what: 'an unknown coordinator',
      args: ['--model', demo, '--members', fileWith({ members: [gb('a1', 4)], coordinator: 'zz' })],
      line: /\d\.json: coordinator is zz, which no member has/,
    },
    ...[demo, shape].flatMap((model) => [
      {
        what: 'a stranger to plan with',
        args: ['--model', model, '--members', members, '--only', 'a1,zz'],
        line: /^--only is zz, which no member has/,
      },
      {
        what: 'a stranger to leave out',
        args: ['--model', model, '--members', members, '--exclude', 'zz'],
        line: /^--exclude is zz, which no member has/,
      },
      {
        what: 'a stranger to lead',
        args: ['--model', model, '--members', members, '--coordinator', 'zz'],
        line: /^--coordinator is zz, which no member has/,
      },
    ]),
    {
      what: 'a link to nobody',
      args: ['--model', demo, '--members', fileWith({ members: [gb('a1', 4)], links: [{ from: 'a1', to: 'zz' }] })],
      line: /\d\.json: links\[0\]\.to is zz, which no member has/,
    },
    {
      what: 'a coordinator that a compact room lacks',
      args: ['--model', shape, '--members', fileWith({ members: [gb('a1', 4)], coordinator: 'zz' })],
      line: /\d\.json: coordinator is zz, which no member has/,
    },
    {
      what: 'a member that says nothing of its memory',
      args: ['--model', shape, '--members', fileWith([{ address: 'a1', backend: 'Cuda', llama_commit: 'c1' }])],
      line: /\d\.json: members\[0\]\.vram_gb is missing$/,
    },
    ...[1e-300, 1e300].flatMap((value) => [
      {
        what: `${value} GB of memory`,
        args: ['--model', demo, '--members', fileWith([gb('a1', value)])],
        line: /members\[0\]\.vram_gb must be at /,
      },
      {
        what: `${value} GB/s`,
        args: ['--model', demo, '--members', fileWith([gb('a1', 4, { bandwidth_gb_s: value })])],
        line: /members\[0\]\.bandwidth_gb_s must be /,
      },
    ]),
  ])('$what', async ({ args, line }) => {
    const error = await printed(...args).then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(error instanceof Error && error.message).toMatch(line);
    expect(error instanceof Error && error.message).not.toContain('\n');
  });

  test('the process ends with 1 and says it on stderr, and with 0 for every answer', () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, 'dist', 'electron', 'cli', 'main.js'), 'plan', ...args], {
        encoding: 'utf8',
      });
    const bad = run('--model', shape, '--members', fileWith([gb('a1', -1)]));
    expect(bad.stderr).toMatch(/^roomful: .*members\[0\]\.vram_gb must be .*\n$/);
    expect({ status: bad.status, stdout: bad.stdout }).toEqual({ status: 1, stdout: '' });
    const tooLarge = run('--model', shape, '--members', members, '--context', '9');
    expect(tooLarge.stderr).toBe('roomful: a compact shape has no KV cache, speeds or prompts; ignored: --context.\n');
    expect(tooLarge.stdout).toMatch(/^DoesNotFit\n/);
    expect(tooLarge.status).toBe(0);
    const empty = run('--model', shape, '--members', fileWith([]), '--json');
    expect({ status: empty.status, fit: JSON.parse(empty.stdout).fit }).toEqual({ status: 0, fit: 'DoesNotFit' });
  });
});

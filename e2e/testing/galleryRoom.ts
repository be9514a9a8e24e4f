import type {
  ChatMessage,
  Conversation,
  DoctorReport,
  EndpointAccess,
  LibraryState,
  MemberState,
  PoolDevice,
  PoolMemberDetail,
  PoolState,
  ServingPipeline,
} from '../../electron/gateway/memberApi.ts';
import {
  download,
  figures,
  libraryModel,
  member,
  memberState,
  pipeline,
  poolState,
  servingStage,
} from '../../electron/gateway/testing/memberFixtures.ts';
import type { MemberActions } from '../../electron/gateway/window/memberState.ts';

/** A busy room in which every kind of member, model and request is found, for pictures of all that the window shows. */

const NOON = Date.UTC(2026, 0, 5, 12);
const model = 'llama-3.3-70b-instruct-q4_k_m';

function card(description: string, gigabytes: number, backend = 'CUDA'): PoolDevice {
  return {
    name: `${backend}0`,
    description,
    backend,
    pciAddress: null,
    deviceClass: backend === 'Metal' ? 'unified' : 'gpu',
    totalBytes: gigabytes * 1e9,
    freeBytes: gigabytes * 0.9e9,
    shares: true,
    bandwidth: 400e9,
  };
}

function machine(name: string, device: PoolDevice, changes: Partial<PoolMemberDetail> = {}): PoolMemberDetail {
  const link = name === 'desk' ? null : { rttMs: 0.4, bytesPerSecond: 117e6, measuredAt: NOON };
  return member(name, { devices: [device], shareBytes: device.freeBytes, build: 'b1234567890', link, ...changes });
}

export const roomMembers: readonly PoolMemberDetail[] = [
  machine('desk', card('NVIDIA GeForce RTX 4090', 24), { admin: true, leads: true, pinned: true }),
  machine('macbook', card('Apple M3 Max', 48, 'Metal'), {
    link: { rttMs: 3.1, bytesPerSecond: 48e6, measuredAt: NOON },
  }),
  machine('a-workstation-with-a-long-name-in-the-attic', card('AMD Radeon RX 7900 XTX', 24, 'ROCm')),
  machine('gaming-laptop', card('NVIDIA GeForce RTX 4070 Laptop GPU', 8), { paused: ['battery', 'heat'] }),
  machine('lab-pc', card('Intel Arc A770', 16, 'SYCL'), { state: 'lost' }),
  machine('office-pc', card('Intel UHD Graphics', 8, 'Vulkan'), {
    reject: { kind: 'BuildMismatch', expected: 'b1234567890', found: 'a9876543210' },
  }),
];

export const servingRoom: ServingPipeline = pipeline({
  id: 'big',
  modelId: model,
  placement: [
    servingStage('desk', 0, 34, 19.4e9, 1.1e9),
    servingStage('macbook', 34, 68, 19.1e9, 1.1e9),
    servingStage('a-workstation-with-a-long-name-in-the-attic', 68, 80, 7.2e9, 0.4e9),
  ],
  hops: 2,
  lastTokensPerSecond: 9.8,
  figures: roomFigures(2, 10),
});

/** Of `servingRoom`, at a moment. */
export function roomFigures(queue: number, tokensPerSecond: number) {
  return figures({
    stages: [
      { member: 'desk', predictedMs: 21, measuredMs: 23.4, queueMs: 1.2 },
      { member: 'macbook', predictedMs: 48, measuredMs: 51.1, queueMs: 0 },
      { member: 'a-workstation-with-a-long-name-in-the-attic', predictedMs: 9, measuredMs: 8.7, queueMs: 0.3 },
    ],
    hops: [
      { from: 'desk', to: 'macbook', predictedMs: 1.8, measuredMs: 2.2, bytes: 41e6 },
      { from: 'macbook', to: 'attic', predictedMs: 1.8, measuredMs: 1.9, bytes: 41e6 },
    ],
    predictedTokensPerSecond: { one: 10.4, many: 31 },
    queue,
    tokensPerSecond,
  });
}

export const comingUp = pipeline({
  id: 'small',
  modelId: 'qwen2.5-7b-instruct-q4_k_m',
  state: 'loading',
  fraction: 0.42,
  placement: [servingStage('desk', 0, 28, 5.2e9, 0.3e9)],
  hops: 0,
});

export const ended = pipeline({
  id: 'gone',
  modelId: 'mistral-7b-instruct-q8_0',
  state: 'failed',
  reason: 'lab-pc was lost; its layers 16 to 31 are on no other member.',
  placement: [servingStage('desk', 0, 16, 3.9e9, 0.2e9), servingStage('lab-pc', 16, 32, 3.9e9, 0.2e9)],
});

export function fullState(): MemberState {
  return memberState(servingRoom, comingUp, ended);
}

export function fullPool(): PoolState {
  const pool = poolState([...roomMembers], undefined, [servingRoom, comingUp, ended]);
  return { ...pool, invites: [{ id: 'i', expiresAtMs: Date.now() + 540_000 }] };
}

export function fullLibrary(): LibraryState {
  return {
    models: [
      libraryModel(model, { parameters: 70.6e9, layers: 80, bytes: 42.5e9, hashed: false, hashing: 0.37 }),
      libraryModel('qwen2.5-7b-instruct-q4_k_m', { parameters: 7.6e9, layers: 28, bytes: 4.7e9 }),
      libraryModel('mistral-7b-instruct-q8_0', {
        layers: 32,
        bytes: 7.7e9,
        state: 'damaged',
        problem: 'blk.3.ffn_up.weight is not what it was when the model was imported. Import or download it again.',
      }),
      libraryModel('a-model-with-a-name-so-long-that-no-row-of-a-small-window-can-hold-all-of-it-iq3_xxs', {
        parameters: 405e9,
        layers: 126,
        bytes: 158e9,
      }),
    ],
    elsewhere: [
      {
        ...libraryModel('gemma-3-27b-it-q4_k_m', { parameters: 27.4e9, layers: 62, bytes: 16.5e9 }),
        holders: ['a-workstation-with-a-long-name-in-the-attic', 'macbook'],
      },
    ],
    folders: [{ path: '/models', problem: null }],
    skipped: [],
    hasDemoModel: false,
    downloads: [
      download({
        id: 'd1',
        reference: 'hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M',
        totalBytes: 4.92e9,
        bytes: 1.3e9,
        bytesPerSecond: 38e6,
        secondsLeft: 95,
      }),
      download({ id: 'd2', reference: 'hf:someone/stopped-GGUF', state: 'stopped', totalBytes: 8e9, bytes: 6e9 }),
      download({
        id: 'd3',
        reference: 'hf:meta/gated-GGUF',
        state: 'failed',
        totalBytes: null,
        bytes: 0,
        problem: 'This model is gated: accept its licence on the hub and give Roomful a token under Settings.',
      }),
    ],
  };
}

export function openEndpoint(): EndpointAccess {
  const key = { createdAtMs: NOON, requests: 214, promptTokens: 81_200, completionTokens: 40_100 };
  const request = { path: '/v1/chat/completions', model, ms: 4210 };
  return {
    lan: { wanted: true, port: 8443, addresses: ['https://192.168.1.20:8443/v1'], problem: null },
    origins: ['http://localhost:3000'],
    keys: [
      { ...key, id: 'k1', name: 'the printer', hint: 'x7Qa', lastUsedMs: NOON },
      { ...key, id: 'k2', name: 'build server', hint: '0pLm', lastUsedMs: null },
    ],
    recent: [
      { ...request, id: 'r1', atMs: NOON, status: 200, from: 'loopback' },
      { ...request, id: 'r2', atMs: NOON - 60_000, status: 429, from: 'lan' },
      { ...request, id: 'r3', atMs: NOON - 90_000, status: null, from: 'lan' },
    ],
  };
}

const head = { id: 'conversation-1', title: 'How a KV cache is laid out', messages: 4, updatedAt: NOON };
const facts = {
  model,
  tokens: 212,
  tokensPerSecond: 9.8,
  acceptance: 0.64,
  members: ['desk', 'macbook', 'attic'],
  outcome: 'done' as const,
  problem: null,
};

function said(id: string, parent: string | null, content: string, answer: ChatMessage['answer'] = null): ChatMessage {
  return { id, parent, role: answer === null ? 'user' : 'assistant', content, createdAt: NOON, answer };
}

const longAnswer = [
  'A KV cache keeps, for **every layer**, the keys and values of the tokens so far:',
  '',
  '| part | bytes per token |',
  '| --- | ---: |',
  '| keys | 2048 |',
  '| values | 2048 |',
  '',
  '1. Each member holds the cache of *its own* layers.',
  '2. A slot is the same number on all of them.',
  '',
  '```python',
  'def kv_bytes(layers: int, heads: int, size: int, tokens: int) -> int:',
  '    return 2 * layers * heads * size * tokens * 2  # keys and values, two bytes each, a comment that runs far to the right',
  '```',
  '',
  'With `kv_unified` the slots share one buffer.',
].join('\n');

const conversation: Conversation = {
  ...head,
  model: null,
  settings: { system: 'Answer in few words.', temperature: 0.7, topP: null, maxTokens: null, seed: null },
  leaf: 'm4',
  history: [
    said('m1', null, 'How is a KV cache laid out?'),
    said('m2', 'm1', longAnswer, facts),
    said('m3', 'm2', 'And when a member is lost?'),
    said('m4', 'm3', 'Then its part of', { ...facts, tokens: null, outcome: 'failed', problem: 'lab-pc was lost.' }),
  ],
};

const doctor: DoctorReport = {
  problems: ['Multicast is blocked on this network: add members by address, or allow UDP port 5353.'],
  versions: { build: 'b1234567890', wireVersion: 3, node: '20.20.0', platform: 'linux x64' },
  status: fullPool().status,
  members: [...roomMembers],
  roster: { version: 7, admin: true, certificateUntilMs: NOON },
  removed: null,
  network: { addresses: ['192.168.1.20'], cards: [], multicast: null },
  memory: { totalBytes: 64e9, freeBytes: 40e9 },
  log: Array.from({ length: 40 }, (_, index) =>
    JSON.stringify({
      level: index % 9 === 8 ? 40 : 30,
      time: NOON + index * 1000,
      msg: index % 9 === 8 ? 'macbook answered after 1.8 s' : `a step of ${index} sequences went round`,
    }),
  ),
};

/** What the member of that room answers. */
export const roomActions: Partial<MemberActions> = {
  conversations: async () => ({
    conversations: [
      head,
      { ...head, id: 'conversation-2', title: 'A second chat with a title that is far too long for the list' },
    ],
  }),
  conversation: async () => conversation,
  doctor: async () => doctor,
  invite: async () => ({
    token: `roomful1:${'Abc3'.repeat(40)}`,
    link: `roomful://join/${'Abc3'.repeat(40)}`,
    fingerprint: Array.from({ length: 13 }, () => 'ab3c').join(' '),
    expiresAtMs: Date.now() + 600_000,
  }),
  sharing: async () => ({
    paused: false,
    pinned: true,
    memoryBytes: null,
    manners: {
      battery: { pause: true },
      heat: { pause: true, cpuCelsius: 95, gpuCelsius: 87 },
      gpu: { pause: false, percent: 40 },
    },
  }),
  limits: async () => ({ diskBytes: null, bytesPerSecond: null, loadedShare: 0.25 }),
  catalogue: async () => ({
    models: [
      {
        name: 'Qwen2.5 0.5B Instruct Q8_0',
        reference: 'hf:a',
        about: 'Small and quick; for a first try.',
        licence: 'Apache-2.0',
        bytes: 0.53e9,
        parameters: 0.5e9,
        contextLength: 32_768,
        fit: 'RunLocal',
        hops: 0,
        tokensPerSecond: 210,
        missingBytes: null,
      },
      {
        name: 'Llama 3.1 405B Instruct Q4_K_M',
        reference: 'hf:b',
        about: 'As large as open models come.',
        licence: 'Llama 3.1',
        bytes: 243e9,
        parameters: 405e9,
        contextLength: 131_072,
        fit: 'DoesNotFit',
        hops: null,
        tokensPerSecond: null,
        missingBytes: 151e9,
      },
    ],
  }),
};

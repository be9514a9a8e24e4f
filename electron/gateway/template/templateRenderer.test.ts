import { afterEach, expect, it, vi } from 'vitest';
import type { HostLauncher } from '../../stage/hostLauncher.ts';
import { nodeLauncher } from '../../stage/nodeLauncher.ts';
import { TemplateRenderer } from './templateRenderer.ts';

const launched: number[] = [];
const counting: HostLauncher = {
  launch: (host, listeners) => nodeLauncher.launch(host, { ...listeners, onSpawn: (pid) => void launched.push(pid) }),
};
const closing: TemplateRenderer[] = [];
function renderer(timeMs = 10_000): TemplateRenderer {
  launched.length = 0;
  const templates = new TemplateRenderer(counting, { timeMs });
  closing.push(templates);
  return templates;
}
afterEach(() => {
  for (const templates of closing.splice(0)) templates.close();
});

it('renders many texts of one template at once, each with its own values, in one process', async () => {
  const templates = renderer();
  templates.prepare('<{{ n }}>');
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => templates.render('<{{ n }}>', { n })));
  expect(all).toEqual(Array.from({ length: 50 }, (_, n) => `<${n}>`));
  expect(launched).toHaveLength(1);
});

it('ends the one that does not end, and renders those behind it in a new process', async () => {
  const templates = renderer(1_500);
  const source = '{% for i in range(n) %}{% for j in range(n) %}{% endfor %}{% endfor %}{{ n }}';
  const asked = [3, 1_000_000, 5, 1_000_000, 7].map((n) =>
    templates.render(source, { n }).catch((cause: { kind: string }) => cause.kind),
  );
  expect(await Promise.all(asked)).toEqual(['3', 'runaway', '5', 'runaway', '7']);
  expect(launched).toHaveLength(3);
}, 30_000);

it('does not blame a template for a process that is slow to start', async () => {
  let runs = (): void => {};
  const running = new Promise<void>((resolve) => {
    runs = resolve;
  });
  const late: HostLauncher = {
    launch: (host, listeners) => {
      const child = nodeLauncher.launch(host, listeners);
      return { ...child, send: (message) => void running.then(() => child.send(message)) };
    },
  };
  const templates = new TemplateRenderer(late);
  closing.push(templates);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const text = templates.render('<{{ n }}>', { n: 1 });
    vi.advanceTimersByTime(30_000);
    runs();
    expect(await text).toBe('<1>');
  } finally {
    vi.useRealTimers();
  }
});

it('leaves no process, and lets nobody wait, once it is closed', async () => {
  const templates = renderer();
  const never = templates.render(
    '{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}',
    {},
  );
  templates.close();
  await expect(never).rejects.toMatchObject({ kind: 'runaway' });
  await expect(templates.render('a', {})).rejects.toMatchObject({ kind: 'runaway' });
});

import { expect, test } from 'vitest';
import { launchRequest } from './launchRequest.ts';

test('links and models are found among what systems add', () => {
  const args = ['--no-sandbox', '/opt/app', 'roomful://join/abc', 'model.gguf', 'file:///srv/a%20b.GGUF', 'notes.txt'];
  expect(launchRequest(args, '/home/me', 'linux')).toEqual({
    links: ['roomful://join/abc'],
    files: ['/home/me/model.gguf', '/srv/a b.GGUF'],
    hidden: false,
  });
});

test('on Windows paths are those of Windows', () => {
  const { files } = launchRequest(['C:\\models\\a.gguf', 'b.gguf'], 'D:\\work', 'win32');
  expect(files).toEqual(['C:\\models\\a.gguf', 'D:\\work\\b.gguf']);
});

test('a start at login wants no window', () => {
  expect(launchRequest(['--hidden'], '/', 'linux')).toEqual({ links: [], files: [], hidden: true });
});

test('a switch is neither link nor model, and a broken address is a path', () => {
  const args = ['--x=roomful://join/a', '--model=a.gguf', 'file://%zz/a.gguf'];
  expect(launchRequest(args, '/', 'linux').links).toEqual([]);
  expect(launchRequest(args, '/', 'linux').files).toHaveLength(1);
});

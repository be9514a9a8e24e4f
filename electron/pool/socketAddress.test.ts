import { expect, test } from 'vitest';
import { formatAddress, parseAddress } from './socketAddress.ts';

test('addresses are written as they are read', () => {
  for (const text of ['10.0.0.1:1', '[fd00::1]:65535', '[fe80::1%eth0]:443']) {
    const parsed = parseAddress(text);
    expect(parsed && formatAddress(parsed)).toBe(text);
  }
});

test('what is no literal address with a port is refused', () => {
  const wrong = ['', 'localhost:1', '10.0.0.1', '10.0.0.1:0', '10.0.0.1:65536', 'fd00::1:1', '[10.0.0.1]:1', '1.2.3:1'];
  for (const text of wrong) expect(parseAddress(text), text).toBeNull();
});

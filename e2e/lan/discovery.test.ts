import { afterEach, beforeEach, expect, test } from 'vitest';
import { judgeMulticast } from '../../electron/pool/discovery/multicastCheck.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { Discoverer } from './testing/discoverer.ts';

describeOnLan('discovery on a LAN', () => {
  let lan: Lan;

  beforeEach(async () => {
    lan = await Lan.create(3);
  });

  afterEach(async () => {
    await lan.close();
  });

  test('members find each other by IPv4 and IPv6, not themselves, and no bridge of containers is named', async () => {
    const [first, second, third] = [lan.machine(1), lan.machine(2), lan.machine(3)];
    await second.ip('link add docker0 type bridge', 'address add 172.17.0.1/16 dev docker0', 'link set docker0 up');
    await second.ip('link add corp0 type bridge', 'address add 10.99.0.1/16 dev corp0', 'link set corp0 up');
    const one = await Discoverer.start(first, 'member-1');
    const two = await Discoverer.start(second, 'member-2');
    const three = await Discoverer.start(third, 'member-3');
    const whole = (addresses: string[]): boolean => addresses.length === 3;

    expect(await one.addressesOf('member-2', whole)).toEqual([
      '10.77.0.3:7002',
      '[fd77::3]:7002',
      '[fe80::3%eth0]:7002',
    ]);
    expect(await two.addressesOf('member-1', whole)).toContain('10.77.0.2:7001');
    expect(await two.addressesOf('member-3', whole)).toContain('[fe80::4%eth0]:7003');
    await three.addressesOf('member-1', whole);
    await three.addressesOf('member-2', whole);
    for (const each of [one, two, three]) {
      expect(each.process.stdout()).not.toContain(`"id":"${each.id}"`);
      expect(each.events('twin')).toEqual([]);
    }
    const facts = await two.facts();
    expect(facts).toMatchObject({ cards: ['eth0'], open: ['eth0', 'eth0'], refused: [], echoed: ['eth0'] });
    expect(facts.skipped.sort()).toEqual(['corp0', 'docker0']);
    expect(judgeMulticast(facts, [{ name: 'one', found: true }], 'linux').state).toBe('works');

    await two.process.stop();
    await eventually(() => expect(one.events('gone')).toEqual(['member-2']));
    await eventually(() => expect(three.events('gone')).toEqual(['member-2']));
  });

  test('a second card is used when it comes, wireless after the other, and forgotten when it goes', async () => {
    const [first, second] = [lan.machine(1), lan.machine(2)];
    const one = await Discoverer.start(first, 'member-1');
    const two = await Discoverer.start(second, 'member-2');
    await one.addressesOf('member-2');
    await lan.addCards('wlan0', 1, [first, second]);
    const addresses = await one.addressesOf('member-2', (all) => all.includes('[fe80::1:3%wlan0]:7002'));
    expect(addresses[0]).toBe('10.77.0.3:7002');
    expect(addresses.indexOf('10.77.1.3:7002')).toBeGreaterThan(addresses.indexOf('10.77.0.3:7002'));

    await first.ip('link set eth0 down', 'address flush dev eth0');
    const left = await one.addressesOf('member-2', (all) => all[0] === '10.77.1.3:7002');
    expect(left.join()).not.toContain('%eth0');
    await two.addressesOf('member-1', (all) => !all.includes('10.77.0.2:7001') && all.includes('10.77.1.2:7001'));
    expect(one.events('gone')).toEqual([]);
    expect(two.events('gone')).toEqual([]);
  });

  test('strangers and other pools are not told; a machine with a copied id is', async () => {
    const one = await Discoverer.start(lan.machine(1), 'member-1');
    await Discoverer.start(lan.machine(2), 'member-1');
    await eventually(() => expect(JSON.stringify(one.events('twin'))).toContain('10.77.0.3:7002'));
    const unwanted = await Discoverer.start(lan.machine(3), 'unwanted-3');
    await unwanted.addressesOf('member-1');
    const foreign = await Discoverer.start(lan.machine(3), 'member-4', { pool: 'pool-2' });
    await eventually(async () => expect((await foreign.facts()).heard).toEqual(['eth0']));
    expect(foreign.events('found')).toEqual([]);
    expect(one.events('found')).toEqual([]);
  });

  test('where multicast is blocked the self-test says so, and members are found once it passes', async () => {
    const one = await Discoverer.start(lan.machine(1), 'member-1');
    await lan.setMulticast(lan.machine(1), false);
    await lan.setMulticast(lan.machine(2), false);
    const two = await Discoverer.start(lan.machine(2), 'member-2');
    const facts = await eventually(async () => {
      const asked = await two.facts();
      expect(asked.looks).toBeGreaterThanOrEqual(3);
      return asked;
    });
    expect(facts.echoed).toEqual(['eth0']);
    expect(two.events('found')).toEqual([]);
    const verdict = judgeMulticast(facts, [{ name: 'desk', found: false }], 'linux');
    expect(verdict).toMatchObject({ state: 'blocked', message: expect.stringContaining('from desk') });

    await lan.setMulticast(lan.machine(1), true);
    await lan.setMulticast(lan.machine(2), true);
    two.look();
    await two.addressesOf('member-1');
    await one.addressesOf('member-2');
  });

  test('a port that another program holds is named, and taken once it is free', async () => {
    const HOLD = `for (const type of ['udp4', 'udp6'])
      require('node:dgram').createSocket({ type, ipv6Only: type === 'udp6' }).bind(5353, () => console.log('held', type));`;
    const holder = lan.machine(1).start(process.execPath, ['-e', HOLD]);
    await holder.says(/held.*\nheld/);
    const one = await Discoverer.start(lan.machine(1), 'member-1');
    const facts = await one.facts();
    expect(facts).toMatchObject({ open: [], refused: [{ card: 'eth0' }, { card: 'eth0' }] });
    expect(judgeMulticast(facts, [], 'linux')).toMatchObject({
      state: 'unavailable',
      message: expect.stringContaining('EADDRINUSE'),
      remedy: expect.stringContaining('5353'),
    });
    await holder.kill();
    const two = await Discoverer.start(lan.machine(2), 'member-2');
    await one.addressesOf('member-2');
    await two.addressesOf('member-1');
  });

  test('hostile packets are dropped and change nothing', async () => {
    const one = await Discoverer.start(lan.machine(1), 'member-1');
    // Garbage; a service without TXT; one whose TXT is another's; a query of many questions; and very many of them.
    const ATTACK = `
      const packet = require('dns-packet');
      const socket = require('node:dgram').createSocket('udp4');
      const type = '_roomful._tcp.local';
      const ptr = (name) => ({ type: 'PTR', name: type, ttl: 120, data: name + '.' + type });
      const answer = (answers) => packet.encode({ type: 'response', flags: packet.AUTHORITATIVE_ANSWER, answers });
      const srv = (name) => ({ type: 'SRV', name: name + '.' + type, ttl: 120, data: { port: 1, target: 'x.local' } });
      const txt = (name, data) => ({ type: 'TXT', name: name + '.' + type, ttl: 120, data });
      const hostile = [
        Buffer.alloc(3), Buffer.alloc(900, 255), answer([ptr('bare'), srv('bare')]), answer([ptr('')]),
        answer([ptr('odd'), srv('odd'), txt('odd', ['__proto__=1', 'v=1', 'port=99999999', '=', 'a0=x'])]),
        packet.encode({ type: 'query', questions: Array(200).fill({ name: type, type: 'PTR' }) }),
      ];
      for (let n = 0; n < 500; n += 1) hostile.push(answer([ptr('n' + n), srv('n' + n)]));
      socket.bind(() => {
        socket.setMulticastInterface('10.77.0.3');
        const next = () => {
          const message = hostile.shift();
          if (message === undefined) return socket.close(() => console.log('done'));
          socket.send(message, 5353, '224.0.0.251', next);
        };
        next();
      });`;
    await lan.machine(2).run(process.execPath, ['-e', ATTACK]);
    expect((await one.facts()).dropped).toBeGreaterThanOrEqual(3);
    expect(one.events('found')).toEqual([]);
    const two = await Discoverer.start(lan.machine(2), 'member-2');
    await one.addressesOf('member-2');
    await two.addressesOf('member-1');
    expect(one.process.stderr()).toBe('');
  });
});

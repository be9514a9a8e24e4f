import { LanMachine } from './lanMachine.ts';
import { addNamespaces, ipBatch, ownerPrefix, removeLeftovers, removeNamespaces } from './namespaces.ts';

/** A card of a machine; `eth0` where left out. */
export interface CardName {
  card?: string;
}

interface Port {
  /** Name of the end at the switch. */
  name: string;
  machine: LanMachine;
  card: string;
  network: number;
}

let made = 0;

/**
 * A LAN in a box: machines that are network namespaces, each with a card on a switch that is a bridge in a namespace of
 * its own. Nothing of it touches the network of the computer that it runs on. Machine n has 10.77.0.(n+1) and
 * fd77::(n+1), and its default route leads to the switch, which routes nowhere.
 *
 * `close` takes everything down. What a test leaves behind that died before that is removed when the next LAN is made.
 */
export class Lan {
  readonly machines: readonly LanMachine[];
  readonly #hub: string;
  readonly #ports: Port[] = [];

  private constructor(hub: string, machines: readonly LanMachine[]) {
    this.#hub = hub;
    this.machines = machines;
  }

  /** Makes a LAN of so many machines. Needs Linux and root, see describeOnLan. */
  static async create(count: number): Promise<Lan> {
    await removeLeftovers();
    if (made === 0) endWithRunner();
    made += 1;
    const prefix = `${ownerPrefix(process.pid)}-${made}`;
    const machines = Array.from({ length: count }, (_, index) => {
      const number = index + 1;
      return new LanMachine({ number, namespace: `${prefix}-${number}`, ...addresses(0, number) });
    });
    const lan = new Lan(`${prefix}-hub`, machines);
    try {
      await addNamespaces([lan.#hub, ...machines.map(({ namespace }) => namespace)]);
      await lan.#addNetwork(0);
      for (const machine of machines) {
        await machine.ip('link set lo up');
        await lan.#addPort({ machine, card: 'eth0', network: 0 });
        const gateway = addresses(0, 0);
        await machine.ip(`route add default via ${gateway.ipv4}`, `route add default via ${gateway.ipv6}`);
      }
    } catch (cause) {
      await lan.close();
      throw cause;
    }
    return lan;
  }

  /** Machine `number`, from 1 on. */
  machine(number: number): LanMachine {
    const machine = this.machines[number - 1];
    if (machine === undefined) throw new Error(`This LAN has no machine ${number}`);
    return machine;
  }

  /**
   * Gives machines one more card each, on a network of its own with the number `network` (1 to 9): 10.77.(network).(n+1)
   * and fd77:(network)::(n+1).
   */
  async addCards(card: string, network: number, machines: readonly LanMachine[] = this.machines): Promise<void> {
    await this.#addNetwork(network);
    for (const machine of machines) await this.#addPort({ machine, card, network });
  }

  /** Pulls the cable: the card sees that its carrier is gone. `heal` plugs it in again. */
  async unplug(machine: LanMachine, { card = 'eth0' }: CardName = {}): Promise<void> {
    await ipBatch(this.#hub, [`link set ${this.#port(machine, card).name} down`]);
  }

  /** Cuts a machine off at the switch, all its cards: packets vanish and no one is told. */
  async cut(machine: LanMachine): Promise<void> {
    const ports = this.#ports.filter((port) => port.machine === machine);
    await ipBatch(
      this.#hub,
      ports.map(({ name }) => `link set ${name} nomaster`),
    );
  }

  /** Splits the LAN into parts that do not reach each other; machines that are in none are cut off. No one is told. */
  async split(...parts: (readonly LanMachine[])[]): Promise<void> {
    const lines: string[] = [];
    for (const port of this.#ports) {
      const part = parts.findIndex((machines) => machines.includes(port.machine));
      if (part < 0) lines.push(`link set ${port.name} nomaster`);
      else lines.push(`link set ${port.name} master ${await this.#addSwitch(port.network, part)}`);
    }
    await ipBatch(this.#hub, lines);
  }

  /** Undoes every unplug, cut and split. */
  async heal(): Promise<void> {
    await ipBatch(
      this.#hub,
      this.#ports.flatMap(({ name, network }) => [
        `link set ${name} master ${switchName(network, 0)}`,
        `link set ${name} up`,
      ]),
    );
  }

  /** As a router that keeps its clients apart: multicast no longer reaches the machine, anything else (IPv4) does. */
  async setMulticast(machine: LanMachine, passes: boolean): Promise<void> {
    const ports = this.#ports.filter((port) => port.machine === machine);
    await ipBatch(
      this.#hub,
      ports.map(({ name }) => `link set ${name} type bridge_slave mcast_flood ${passes ? 'on' : 'off'}`),
    );
  }

  /** Ends every process and removes the namespaces. */
  async close(): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.killAll()));
    await removeNamespaces([...this.machines.map(({ namespace }) => namespace), this.#hub]);
  }

  async #addNetwork(network: number): Promise<void> {
    const name = await this.#addSwitch(network, 0);
    const { ipv4, ipv6 } = addresses(network, 0);
    await ipBatch(this.#hub, [`address add ${ipv4}/24 dev ${name}`, `address add ${ipv6}/64 dev ${name} nodad`]);
  }

  /** Part 0 of each network is the whole switch, the others exist from the first split on. */
  async #addSwitch(network: number, part: number): Promise<string> {
    const name = switchName(network, part);
    if (this.#switches.has(name)) return name;
    this.#switches.add(name);
    await ipBatch(this.#hub, [
      `link add ${name} type bridge forward_delay 0 stp_state 0 mcast_snooping 0`,
      `link set ${name} up`,
    ]);
    return name;
  }

  readonly #switches = new Set<string>();

  async #addPort({ machine, card, network }: Omit<Port, 'name'>): Promise<void> {
    const name = `m${machine.number}-${network}`;
    const { ipv4, ipv6 } = addresses(network, machine.number);
    await ipBatch(this.#hub, [
      `link add ${name} type veth peer name ${card} netns ${machine.namespace}`,
      `link set ${name} master ${switchName(network, 0)}`,
      `link set ${name} up`,
    ]);
    await machine.ip(
      // The link-local address is given by hand: one that the kernel makes is not usable for a second or two.
      `link set ${card} addrgenmode none`,
      `address add ${ipv4}/24 dev ${card}`,
      `address add ${ipv6}/64 dev ${card} nodad`,
      `address add fe80::${network}:${machine.number + 1}/64 dev ${card} nodad`,
      `link set ${card} up`,
    );
    this.#ports.push({ name, machine, card, network });
  }

  #port(machine: LanMachine, card: string): Port {
    const port = this.#ports.find((each) => each.machine === machine && each.card === card);
    if (port === undefined) throw new Error(`Machine ${machine.number} has no card ${card}`);
    return port;
  }
}

/**
 * A worker of vitest outlives a runner that was killed, and would keep its machines. Its end takes their processes along;
 * the next LAN removes the rest.
 */
function endWithRunner(): void {
  process.once('disconnect', () => process.exit(1));
}

function switchName(network: number, part: number): string {
  return `switch${network}-${part}`;
}

/** Of a machine, or of the switch (number 0). */
function addresses(network: number, number: number): { ipv4: string; ipv6: string } {
  const host = number + 1;
  return {
    ipv4: `10.77.${network}.${host}`,
    ipv6: network === 0 ? `fd77::${host.toString(16)}` : `fd77:${network}::${host.toString(16)}`,
  };
}

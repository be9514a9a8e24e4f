import { backends } from '../backend.ts';
import { InvalidInput } from '../invalidInput.ts';
import { deviceClasses, type Member, reachabilities } from '../member.ts';
import {
  checkChoice,
  checkFlag,
  checkList,
  checkNumber,
  checkObject,
  checkOptional,
  checkText,
  mostBytes,
  positive,
  rate,
} from './checks.ts';

/** Refuses a room that the planner cannot reason about; throws `InvalidInput`. */
export function checkMembers(members: readonly Member[]): void {
  checkList(members, 'members');
  const seen = new Map<string, number>();
  for (const [index, member] of members.entries()) {
    const field = `members[${index}]`;
    checkObject(member, field);
    checkText(member.address, `${field}.address`);
    const twin = seen.get(member.address);
    if (twin !== undefined) {
      throw new InvalidInput(`${field}.address`, `is ${member.address}, which members[${twin}] has already`);
    }
    seen.set(member.address, index);
    checkChoice(member.backend, backends, `${field}.backend`);
    if (member.deviceClass !== undefined) checkChoice(member.deviceClass, deviceClasses, `${field}.deviceClass`);
    checkNumber(member.memoryBytes, `${field}.memoryBytes`, positive);
    checkOptional(member.hostMemoryBytes, `${field}.hostMemoryBytes`, {});
    checkOptional(member.bandwidth, `${field}.bandwidth`, rate);
    checkOptional(member.hostBandwidth, `${field}.hostBandwidth`, rate);
    checkOptional(member.flops, `${field}.flops`, { ...rate, most: 1e21 });
    checkOptional(member.headroomBytes, `${field}.headroomBytes`, {});
    checkOptional(member.stageExtraBytes, `${field}.stageExtraBytes`, { least: -mostBytes });
    checkOptional(member.stageSpeed, `${field}.stageSpeed`, { least: 1e-3, most: 1e3 });
    if (member.name !== undefined) checkText(member.name, `${field}.name`);
    checkText(member.build, `${field}.build`);
    if (member.reachability !== undefined) {
      checkChoice(member.reachability, reachabilities, `${field}.reachability`);
    }
    checkFlag(member.paused, `${field}.paused`);
    checkFlag(member.stale, `${field}.stale`);
  }
}

import type { MemberProfile } from '../../wire/generated/roomful/v1/profile.ts';
import { WireError } from '../../wire/wireError.ts';
import { type Profile, profileSchema } from './profile.ts';

/** A profile as it goes to other members. */
export function profileMessage(profile: Profile): MemberProfile {
  return {
    ...profile,
    hostMemoryBytes: profile.hostMemoryBytes ?? undefined,
    bandwidth: profile.bandwidth ?? undefined,
    hostBandwidth: profile.hostBandwidth ?? undefined,
    devices: profile.devices.map((device) => ({
      ...device,
      pciAddress: device.pciAddress ?? undefined,
      bandwidth: device.bandwidth ?? undefined,
    })),
  };
}

/** Reads the profile that another member sent. Throws a WireError that names what is wrong with it. */
export function parseProfile(message: MemberProfile): Profile {
  const parsed = profileSchema.safeParse({
    ...message,
    hostMemoryBytes: message.hostMemoryBytes ?? null,
    bandwidth: message.bandwidth ?? null,
    hostBandwidth: message.hostBandwidth ?? null,
    devices: message.devices.map((device) => ({
      ...device,
      pciAddress: device.pciAddress ?? null,
      bandwidth: device.bandwidth ?? null,
    })),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new WireError(`A member sent a profile that cannot be read: ${issue?.path.join('.')}: ${issue?.message}`, {
    cause: parsed.error,
  });
}

import type { z } from 'zod';
import type { MemberProfile } from '../../wire/generated/roomful/v1/profile.ts';
import { WireError } from '../../wire/wireError.ts';
import { type MeasuredWay, measuredWaysSchema } from './measuredWay.ts';
import { type Profile, profileSchema } from './profile.ts';

/** A profile as it goes to other members, with the ways that its member has measured. */
export function profileMessage(profile: Profile, ways: readonly MeasuredWay[]): MemberProfile {
  return {
    ...profile,
    ways: [...ways],
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
  throw unreadable(parsed.error);
}

/** Reads the ways that another member has measured. Throws as `parseProfile` does. */
export function parseWays({ ways }: MemberProfile): MeasuredWay[] {
  const parsed = measuredWaysSchema.safeParse(ways);
  if (parsed.success) return parsed.data;
  throw unreadable(parsed.error);
}

function unreadable(cause: z.ZodError): WireError {
  const [issue] = cause.issues;
  return new WireError(`A member sent a profile that cannot be read: ${issue?.path.join('.')}: ${issue?.message}`, {
    cause,
  });
}

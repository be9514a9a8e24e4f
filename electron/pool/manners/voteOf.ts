import type { Manner, Readings } from './manner.ts';
import type { MannersSettings } from './mannersSettings.ts';

/** What readings speak for: pausing, sharing, neither while they lie between the limits, or nothing at all. */
export type Vote = 'pause' | 'share' | 'neither' | 'unknown';

/** A machine has cooled down when it is this much below its limit. */
const COOLER_CELSIUS = 10;
/** The owner is done with the card when it is busy for this part of the limit. */
const IDLE_FRACTION = 0.5;

/** What the readings say to one manner that is switched on. */
export function voteOf(manner: Manner, readings: Readings, settings: MannersSettings): Vote {
  switch (manner) {
    case 'battery':
      if (readings.onBattery === null) return 'unknown';
      return readings.onBattery ? 'pause' : 'share';
    case 'heat': {
      const { cpuCelsius, gpuCelsius } = settings.heat;
      return sumUp([
        between(readings.cpuCelsius, cpuCelsius - COOLER_CELSIUS, cpuCelsius),
        between(readings.gpuCelsius, gpuCelsius - COOLER_CELSIUS, gpuCelsius),
      ]);
    }
    case 'gpu': {
      if (readings.gpuWanted === 'unclear') return 'neither';
      const limit = settings.gpu.percent / 100;
      return between(readings.gpuWanted, limit * IDLE_FRACTION, limit);
    }
  }
}

function between(value: number | null, low: number, high: number): Vote {
  if (value === null) return 'unknown';
  if (value >= high) return 'pause';
  return value <= low ? 'share' : 'neither';
}

/** The strictest of several votes. */
function sumUp(votes: readonly Vote[]): Vote {
  return (['pause', 'neither', 'share'] as const).find((vote) => votes.includes(vote)) ?? 'unknown';
}

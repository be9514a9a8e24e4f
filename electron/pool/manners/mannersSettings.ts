import { z } from 'zod';

const celsius = z.number().min(30).max(150);

/** When a member stops sharing by itself; each part can be switched off. */
export const mannersSettingsSchema = z.object({
  /** While the machine runs on its battery. */
  battery: z.object({ pause: z.boolean().default(true) }).prefault({}),
  /** While the machine is hot. The processor's limit is below the 100 degrees at which most slow down. */
  heat: z
    .object({
      pause: z.boolean().default(true),
      cpuCelsius: celsius.default(97),
      gpuCelsius: celsius.default(88),
    })
    .prefault({}),
  /** While programs of the owner keep the graphics card busy for more than this part of the time. */
  gpu: z.object({ pause: z.boolean().default(true), percent: z.number().min(1).max(100).default(30) }).prefault({}),
});
export type MannersSettings = z.infer<typeof mannersSettingsSchema>;

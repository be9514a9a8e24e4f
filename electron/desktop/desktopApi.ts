import type { DesktopMethod, DesktopSettings, MemberApi } from '../gateway/memberApi.ts';
import type { MemberActions } from '../gateway/window/memberState.ts';
import type { Autostart } from './autostart.ts';
import type { DesktopSettingsFile } from './desktopSettings.ts';
import type { Updater } from './updater.ts';

/** The member's contract, with the settings of the desktop app answered here. */
export function desktopApi(
  api: MemberApi,
  { autostart, settings, updater }: { autostart: Autostart; settings: DesktopSettingsFile; updater: Updater },
): MemberApi {
  const answer = async (): Promise<DesktopSettings> => ({
    autostart: await autostart.isOn(),
    ...settings.current,
    noUpdates: updater.unavailable,
  });
  const own: Pick<MemberActions, DesktopMethod> = {
    desktop: answer,
    changeDesktop: async ({ autostart: starts, notifications, updates }) => {
      if (starts !== undefined) await autostart.set(starts);
      await settings.change({
        ...(notifications !== undefined && { notifications }),
        ...(updates !== undefined && { updates }),
      });
      return answer();
    },
  };
  const actions: Partial<MemberActions> = own;
  return {
    call: async (method, params) => {
      const action = actions[method];
      return action === undefined ? api.call(method, params) : action(params);
    },
    subscribe: (topic, listener) => api.subscribe(topic, listener),
  };
}

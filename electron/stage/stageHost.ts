import { followRing } from '../wire/followRing.ts';
import type { RingLink } from '../wire/ringLink.ts';
import type { RingOutlet } from '../wire/ringOutlet.ts';
import { RingServer } from '../wire/ringServer.ts';
import { WireServer } from '../wire/wireServer.ts';
import { loadAddon } from './loadAddon.ts';
import { measureRowCosts } from './measureRowCosts.ts';
import type { NativeAddon, NativeStage } from './nativeAddon.ts';
import { roundsInCompany } from './roundsInCompany.ts';
import { serveHost, WrongOrder } from './serveHost.ts';
import { type StageRing, stageContract } from './stageContract.ts';
import { StageRunner } from './stageRunner.ts';

/** The entry of a stage host: one stage of one pipeline, from load to leave. */

/** Frames are told of at most this often, ms. */
const FRAMES_INTERVAL_MS = 200;

interface Stage {
  native: NativeStage;
  runner: StageRunner;
  ring: StageRing;
  server: WireServer;
  outlet: RingOutlet;
}

let addon: NativeAddon | null = null;
let loadAsked = false;
let linkAsked = false;
let stage: Stage | null = null;
let link: RingLink | null = null;
let linkLost = false;
let framesToldAt = Number.NEGATIVE_INFINITY;

serveHost(stageContract, (emit) => {
  /** Tells of the first loss; what follows from it is no news. */
  const lose = (side: 'upstream' | 'downstream', error: unknown): void => {
    if (linkLost) return;
    linkLost = true;
    emit('linkLost', { side, message: error instanceof Error ? error.message : String(error) });
  };

  return {
    boot: async ({ parentPid }) => {
      const loaded = loadAddon();
      loaded.addon.exitWithParent(parentPid);
      addon = loaded.addon;
      return { backend: loaded.libraries.backend };
    },

    load: async ({ stage: options, ring }) => {
      if (addon === null || loadAsked) throw new WrongOrder('A stage is loaded once, after boot.');
      loadAsked = true;
      let told = -1;
      const native = await addon.loadStage(options, (fraction) => {
        if (fraction < 1 && fraction - told < 0.01) return;
        told = fraction;
        emit('progress', fraction);
      });
      const company = await roundsInCompany(options);
      // Rows that are computed alone fill nothing up; on devices kernels of few rows are bound by the weights alike.
      const rowCosts = company === 'slot' ? await measureRowCosts(native, options) : null;
      const { pipeline, epoch, position } = ring;
      const ringServer = new RingServer();
      const server = await WireServer.start({
        tls: ring.tls,
        host: ring.host,
        port: 0,
        services: [ringServer.service],
      });
      const follower = { pipeline, epoch, position: position + 1, follower: ring.follower };
      const outlet = ringServer.open(follower, (error) => {
        lose('downstream', error);
        // The loss goes round the ring, so that its coordinator knows at once.
        link?.close();
      });
      const { role, slots, batch } = options;
      const runner = new StageRunner({
        native,
        role,
        pipeline,
        epoch,
        position,
        slots,
        batch,
        company,
        rowCosts,
        send: (frame) => outlet.send(frame),
        wayMs: () => link?.way.ms ?? null,
        onFrame: () => {
          const now = performance.now();
          if (now - framesToldAt < FRAMES_INTERVAL_MS) return;
          framesToldAt = now;
          emit('frames', null);
        },
      });
      stage = { native, runner, ring, server, outlet };
      const { embeddingLength, vocabularySize } = native;
      return { address: server.address, memory: native.memory(), embeddingLength, vocabularySize };
    },

    link: async ({ address, member }) => {
      if (stage === null || linkAsked) throw new WrongOrder('A stage is linked once, after it has been loaded.');
      linkAsked = true;
      const { runner, outlet, ring } = stage;
      const { pipeline, epoch, position, tls } = ring;
      link = await followRing({ address, member, tls, pipeline, epoch, position });
      runner.run(link).then(
        async () => {
          await outlet.close();
          if (!linkLost) emit('ended', null);
        },
        (error: unknown) => {
          lose('upstream', error);
          outlet.abort();
        },
      );
      return null;
    },

    memory: async () => loadedStage().native.memory(),

    stats: async () => loadedStage().runner.stats,

    leave: async () => {
      link?.close();
      if (stage === null) return null;
      stage.native.cancel();
      await stage.outlet.close();
      await Promise.all([stage.server.close(), stage.native.unload()]);
      return null;
    },
  };
});

function loadedStage(): Stage {
  if (stage === null) throw new WrongOrder('No stage has been loaded.');
  return stage;
}

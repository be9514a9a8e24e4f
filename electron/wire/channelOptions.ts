import type { ChannelOptions } from '@grpc/grpc-js';

/** Largest message, bytes: 2,048 rows of 8,192 f32 values and room for the rest. */
export const MAX_MESSAGE_BYTES = 72 * 1024 * 1024;

/** Bytes that may be under way to a client; grpc-js has no such setting for what a server receives. */
const FLOW_CONTROL_WINDOW_BYTES = 8 * 1024 * 1024;

/**
 * For both ends: they ping every other second, and `endWhenSilent` draws the conclusion. grpc-js must draw none: its timer
 * ends a connection whose answer has come and only waits to be read because this process was busy, and a lost link ends a
 * pipeline. Who is alive is the heartbeat's to say.
 */
export const commonOptions = {
  'grpc.keepalive_time_ms': 2000,
  'grpc.keepalive_timeout_ms': 24 * 60 * 60 * 1000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.enable_channelz': 0,
} satisfies ChannelOptions;

export const clientOptions = {
  ...commonOptions,
  'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
  // Each client has a connection of its own, closed with it, and never goes through a proxy of the environment.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // Members are known by id; a fixed name keeps addresses out of SNI, where they are not allowed.
  'grpc.ssl_target_name_override': 'roomful',
} satisfies ChannelOptions;

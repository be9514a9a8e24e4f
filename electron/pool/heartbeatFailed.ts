/** This member cannot beat: its port or its data folder is out of reach. The message says which, in one plain line. */
export class HeartbeatFailed extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'HeartbeatFailed';
  }
}

/** What the thread that downloads is given. */
export interface DownloadOrder {
  /** Where the files go, under their names. */
  folder: string;
  files: { url: string; name: string }[];
  /** For addresses of the hub alone. */
  token: string | null;
  hub: string;
}

/** Thread to member. */
export type DownloadReport =
  | { type: 'progress'; bytes: number; totalBytes: number }
  /** Paths in the order of the files. */
  | { type: 'done'; paths: string[] }
  | { type: 'failed'; message: string; status: number | null; code: string | null };

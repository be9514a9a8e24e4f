/** Line drawings on a grid of 24. */
const drawings = {
  pool: 'M4 5h16v9H4zM9 19h6M12 14v5',
  planner: 'M4 6h7v4H4zM13 14h7v4h-7zM11 8h4a2 2 0 0 1 2 2v4M4 16h5',
  models: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  chat: 'M4 5h16v11H10l-4 4v-4H4z',
  endpoint: 'M8 6l-5 6 5 6M16 6l5 6-5 6M13.5 5l-3 14',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  logs: 'M5 4h14v16H5zM8.5 9h7M8.5 12.5h7M8.5 16h4',
  undo: 'M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10h-3',
  redo: 'M16 5l4 4-4 4M20 9H10a5 5 0 0 0 0 10h3',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  whole: 'M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  edit: 'M4 20l1-4L16 5l3 3L8 19z',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5L20 20',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
} as const;

export type IconName = keyof typeof drawings;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={drawings[name]} />
    </svg>
  );
}

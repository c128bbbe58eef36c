// Types of the data inside the page and of what its scripts share: `make lint-page` checks the scripts with
// them, and tests/report/test_types.py compares them with what Python writes.
// The comments name the Python modules that write the data.

/** What scripts and tests of the page use of each other. */
interface Byteways {
  // page.js
  all: (selector: string) => HTMLElement[];
  within: (event: Event, selector: string) => HTMLElement | SVGElement | null;
  compact: (place: HTMLElement, lines: Line[], sizes: number[], names: string[]) => unknown;
  unpacked: () => Promise<void>;
  ready: () => Promise<void>;
  draw: (place: HTMLElement) => unknown;
  drawAll: () => Promise<number>;
  drawn: Set<HTMLElement>;
  places: HTMLElement[];
  save: (content: Blob, kind: string, name?: string) => void;
  text: (id: string) => Promise<string>;
  fromBase64: (letters: string) => Uint8Array;
  readonly filled: Promise<void>;
  // curve.js, two_runs.js
  curve: CurveTools;
  second: SecondRun;
  // save.js
  pictures: { title: () => string; make: MakePicture }[];
  // parts.js
  parts: Parts;
  // explore.js
  select: (change: Partial<PairSelection>) => void;
  state: PairSelection;
  // records.js
  download: (kind: string) => Promise<string>;
  records: RecordTable;
}
interface Window {
  byteways: Byteways;
  Plotly: {
    react: (place: HTMLElement, data: object[], layout: object, options: object) => Promise<unknown>;
    toImage: (figure: object, options: object) => Promise<string>;
  };
}
type MakePicture = (kind: string) => Promise<Blob | null>;

// Charts: report/charts.py, report/views, report/pictures.py.

/** Values in GB/s over sizes in bytes, with the ends of their intervals. */
interface Values { y: number[]; low: number[]; high: number[] }
interface Line extends Values {
  label: string;
  x: number[];
  second?: Values; // of a second run
  told?: string[]; // tips of the marks
}
/** Of two runs: report/views/curve_changes.py and compared.js. */
interface TwoRunLine extends Line { second: Values; speed: number[]; differ: number[]; told: string[] }
interface Level { at: number; name: string }
interface Curves { lines: Line[]; sizes: number[]; names: string[]; levels?: Level[] }
/** What Plotly takes, and what the page adds to it. */
interface Trace {
  name?: string;
  type?: string;
  colour: number;
  palette?: number;
  band?: boolean;
  showlegend?: boolean;
  line?: object;
  marker?: { line?: object };
  error_x?: object;
}
interface Axis { title?: object; tickvals?: number[]; ticktext?: string[] }
interface Layout {
  xaxis: Axis;
  yaxis: Axis;
  panels?: number;
  shapes?: { line?: object; filled?: boolean }[];
  annotations?: { boxed?: boolean; colour?: number }[];
}
interface PlotlyFigure { data: Trace[]; layout: Layout; rows?: number }
type Figure = Curves | PlotlyFigure;
/** A place that Plotly has drawn in. */
interface Plotted extends HTMLElement { data: object[]; layout: { margin: object } }

type Scale = (value: number) => number;
type Attributes = Record<string, string | number>;
interface CurveTools {
  draw: (place: HTMLElement, curves: Curves, room: { width: number; height: number }) => void;
  scale: (low: number, high: number, from: number, to: number) => Scale;
  path: (x: number[], y: number[]) => string;
  band: (parent: Element, x: number[], low: number[], high: number[]) => void;
  marks: (parent: Element, x: number[], y: number[], index: number, told: string[], open?: (n: number) => boolean) => void;
  tick: (parent: Element, text: string, x: number, y: number, anchor: string) => void;
  rule: (parent: Element, name: string, x1: number, y1: number, x2: number, y2: number) => void;
  add: (parent: Element, name: string, attributes: Attributes, text?: string) => SVGElement;
}
interface Frame { across: Scale; up: Scale; end: number; bottom: number; left: number; right: number }
interface SecondRun {
  HEIGHT: number;
  add: (svg: SVGElement, lines: TwoRunLine[], groups: SVGElement[], frame: Frame) => void;
  end: (top: number, bottom: number) => number;
}

// Maps of pairs.

interface Parts {
  make: Make;
  heading: (row: HTMLElement, text: string, scope: string, name?: string) => void;
  drawMap: (
    table: HTMLTableElement, devices: string[], selected: string, caption: string,
    cell: (from: number, to: number) => HTMLButtonElement | null,
  ) => void;
  onMap: (table: HTMLTableElement, pick: (pair: string) => void) => void;
  onLinks: (pairOf: (link: string) => string | undefined, pick: (pair: string) => void) => void;
  strokes: SVGElement[];
}
type Make = <Tag extends keyof HTMLElementTagNameMap>(tag: Tag, text?: string, name?: string) => HTMLElementTagNameMap[Tag];

/** Data of the part "Any path": report/explore.py. */
interface ExplorerData {
  devices: string[];
  sizes: number[];
  sizeNames: string[];
  ways: string[];
  words: string[];
  alike: number | null; // the word that says "no significant difference"
  cells: {
    from: number[]; to: number[]; size: number[]; way: number[]; mode: number[];
    rate: number[]; low: number[]; high: number[]; text: string[]; share: (number | null)[];
    engine: number[]; warnings: number[];
  };
  order: Order[];
  links: Record<string, string[]>;
  classes: Record<string, string>;
}
/** from, to, size, mode, cells, verdicts, and the cells that stand for the pair: of all ways, reads, writes. */
type Order = [number, number, number, number, number[], number[], (number | null)[]];
interface PairSelection {
  pair: string; size: number; way: number; access: string; both: number; warm: number; share: number;
  all: number; // whether all ways are listed
}
interface ExplorerElements {
  way: HTMLSelectElement; size: HTMLSelectElement; map: HTMLTableElement; ways: HTMLTableElement;
  scale: HTMLElement; title: HTMLElement; curve: HTMLElement;
}

/** Data of the map of two runs: report/compared.py. */
interface ComparedData {
  devices: string[];
  bytes: number[];
  sizes: string[];
  ways: string[];
  size: number;
  pair: string;
  links: Record<string, string>;
  cells: {
    from: number[]; to: number[]; size: number[]; way: number[]; both: number[]; differ: number[]; undecided: number[];
    speed: number[]; rates: number[][]; change: string[]; interval: string[]; first: string[]; second: string[];
  };
}
interface ComparedElements {
  way: HTMLSelectElement; size: HTMLSelectElement; table: HTMLTableElement; cases: HTMLTableElement;
  title: HTMLElement; curve: HTMLElement;
}

// All records: report/record_data.py.

type Value = string | number | boolean | null;
type Column = { name: string; kind: string } & ({ all: Value } | { of: Value[]; at: number[] } | { each: Value[] });
/** As the page holds it: `rows` names the rows of the table that say which index of `at` is a record's. */
type StoredColumn = Column | { name: string; kind: string; of: Value[]; at: number[]; rows: string } | { name: string; kind: string; floats: string };
interface RecordData { manifest: object; count: number; rows: Record<string, number[]>; columns: Column[]; extra: Column[] }
interface Shown { name: string; heading: string; write: (value: any) => string; right: boolean; column: Column }
interface RecordState { search: string; filters: Record<string, string>; sort: string; down: boolean; chosen: number }
interface RecordElements {
  table: HTMLTableElement; scroll: HTMLElement; count: HTMLElement; detail: HTMLElement; filters: HTMLElement;
  manifest: HTMLElement; search: HTMLInputElement; copy: HTMLElement;
}
interface RecordTable {
  build: () => Promise<void>;
  copy: () => Promise<string>;
  show: (filtered: Record<string, string>, search?: string) => Promise<void>;
  state: RecordState;
  count: () => number;
}

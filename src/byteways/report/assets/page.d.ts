// Types of the data inside the page and of what its scripts share: `make lint-page` checks the scripts with
// them, and tests/report/test_types.py compares them with what Python writes.
// The comments name the Python modules that write the data.

/** What scripts and tests of the page use of each other. */
interface Byteways {
  // page.js
  all: (selector: string) => HTMLElement[];
  within: (event: Event, selector: string) => HTMLElement | SVGElement | null;
  place: (place: HTMLElement, chart: Chart) => unknown;
  unpacked: () => Promise<void>;
  draw: (place: HTMLElement) => unknown;
  drawAll: () => Promise<number>;
  drawn: Set<HTMLElement>;
  places: HTMLElement[];
  save: (content: Blob, kind: string, name?: string) => void;
  text: (id: string) => Promise<string>;
  fromBase64: (letters: string) => Uint8Array;
  readonly filled: Promise<void>;
  // axes.js, chart.js
  axes: AxisTools;
  chart: ChartTools;
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
interface Window { byteways: Byteways }
type MakePicture = (kind: string) => Promise<Blob | null>;

// Charts: questions/display/chart.py. What is left out has its default there.

interface Axis { label?: string; scale?: string; unit?: string; names?: string[]; reach?: number }
interface Point { x: number; y: number; low?: number; high?: number; text?: string; label?: string; open?: boolean }
interface Series {
  label: string;
  points: Point[];
  kind?: string;
  colour?: number;
  dash?: string;
  symbol?: string;
  group?: string;
  width?: number;
}
interface ReferenceLine { label: string; at: number }
interface Panel { y: Axis; series: Series[]; levels?: ReferenceLine[]; band?: number[] }
interface Chart {
  title: string;
  caption?: string;
  x: Axis;
  y: Axis;
  series: Series[];
  levels?: ReferenceLine[];
  marks?: ReferenceLine[];
  below?: Panel[];
}

interface Scale {
  low: number; high: number; from: number; to: number; pixels: number;
  at: (value: number) => number;
  of: (pixel: number) => number;
}
/** Where a panel draws; `flat`: values go to the right. */
interface Frame { across: Scale; up: Scale; flat: boolean; clip: string }
/** Panels with their axes, what is shown of them, and pixels. `markRows`: the row of each mark's name. */
interface Layout {
  panels: Panel[]; ofY: Axis[]; shown: Series[][]; flat: boolean; entries: [Series, number][]; direct: boolean;
  names: string[][]; room: number; marks: ReferenceLine[]; markRows: Map<ReferenceLine, number>;
  ups: Scale[]; rules: number[][]; across: Scale; xs: number[];
  left: number; right: number; top: number; bottom: number;
}
/** What a user has done with a chart, and where its main panel is. */
interface View {
  chart: Chart;
  hidden: Set<string>;
  zoom: { x?: number[]; y?: number[] } | null;
  frame: { across: Scale; up: Scale; left: number; right: number; top: number; bottom: number; fixed: boolean } | null;
  printing: boolean;
}
type Attributes = Record<string, string | number>;
/** axes.js */
interface AxisTools {
  written: (value: number, unit?: string) => string;
  ticksOf: (axis: Axis, scale: Scale, apart: number, values: number[]) => number[];
  scaleOf: (axis: Axis, range: number[], from: number, to: number) => Scale;
  rangeOf: (axis: Axis, values: number[], zero: boolean) => number[];
}
interface ChartTools {
  draw: (place: HTMLElement, chart: Chart, printing: boolean) => void;
  toggle: (place: HTMLElement, label: string, alone: boolean) => void;
  zoom: (place: HTMLElement, x?: number[], y?: number[]) => void;
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
  interfaces: string[]; // of each way
  words: string[];
  alike: number | null; // the word that says "no significant difference"
  cells: {
    from: number[]; to: number[]; size: number[]; way: number[]; access: number[]; mode: number[];
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

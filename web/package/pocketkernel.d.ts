/** Compile the module: once, before anything else. `source` is the WebAssembly, or where to find it. */
export function init(source?: BufferSource | string | URL): Promise<void>;

/** Bytes from a number or a text such as "64KiB". */
export function parseBytes(memory: number | string): number;

interface CommonOptions {
    /** Columns of a row. */
    features: number;
    /** Bytes that the learner may use, such as 65536 or "64KiB" (the default). */
    memory?: number | string;
    /** Of the random frequencies, below 2^64. 0 by default. */
    seed?: number | bigint;
}

export interface Options extends CommonOptions {
    /** How many classes there are, or their labels. 2 by default. */
    classes?: number | ReadonlyArray<number | string>;
    /** Whether an expert on the last labels takes part. True by default. */
    lag?: boolean;
    /** A linear model alone, to compare with. */
    linear?: boolean;
}

export interface RegressorOptions extends CommonOptions {
    /** How many numbers are predicted for each row. 1 by default. */
    outputs?: number;
    /** What is predicted: the mean ("squared", the default), the median ("absolute") or a quantile. */
    loss?: "squared" | "absolute" | "quantile";
    /** Which quantile, from 0.001 to 0.999, if that is the loss. 0.5 by default. */
    quantile?: number;
}

export interface RegressorReport {
    /** Rows learned. */
    rows: number;
    /** Summed loss of their predictions, each from before it was learned. */
    loss: number;
    /** How much the linear model and each width count in the mixture, among themselves. */
    weights: number[];
}

export interface Report {
    /** Rows learned. */
    rows: number;
    /** Rows whose class was predicted wrongly, each before it was learned. */
    mistakes: number;
    /** Summed logistic loss of these predictions. */
    loss: number;
    /** How much each expert counts; the sum is 1. */
    weights: number[];
}

type Numbers =
    | readonly number[] | Float64Array | Float32Array | Int32Array | Int16Array | Int8Array | Uint32Array | Uint16Array
    | Uint8Array | Uint8ClampedArray;

declare abstract class Pocket<Counts> {
    readonly features: number;
    /** Bytes of the learner, constant from the first row on. */
    readonly nbytes: number;
    /** What was asked for. */
    readonly memory: number | string;
    /** Frequencies, over all widths. */
    readonly budget: number;
    /** Names of the experts, in the order of `report().weights`. */
    readonly experts: string[];
    /** Names of the columns, if the file had some. */
    featureNames?: string[] | null;

    report(): Counts;
    /** The model as the bytes of a file, which `pocketkernel.load` reads in Python. */
    save(): Uint8Array;
}

/** A classifier that learns row by row, in a fixed number of bytes. NaN in a row is a missing value. What is not a number,
 *  not a class or not as long as it has to be is refused with a TypeError or a RangeError, and nothing has been learned. */
export class PocketClassifier extends Pocket<Report> {
    constructor(options: Options);
    readonly classes: number;
    readonly lag: boolean;
    /** What the classes stand for; null for one that has not arrived yet, of a model with room for more (`n_classes`). */
    readonly labels: ReadonlyArray<number | string | boolean | bigint | null>;

    /** Learn a row with its class, an index from 0 on; returns the class that was predicted before. */
    learn(row: Numbers, label: number): number;
    /** Learn rows, one after another in one array; returns the predicted classes, each from before its row was learned.
     *  All are checked first: if one is refused, none is learned. A model with `class_weight` learns only in Python. */
    learnMany(rows: Numbers, labels: Numbers): Int32Array;
    /** One score per class; the largest wins. */
    score(row: Numbers): Float64Array;
    /** Scores of rows, one after another in one array: one per class for each row. */
    scoreMany(rows: Numbers, count?: number): Float64Array;
    /** The class of a row, as an index. */
    predict(row: Numbers): number;
    /** The model in a file that was saved here or in Python; an error for what Python would not load. */
    static load(bytes: ArrayBuffer | SharedArrayBuffer | ArrayBufferView): PocketClassifier;
}

/** A regressor that learns row by row, in a fixed number of bytes. NaN in a row is a missing value. What is not a number, not
 *  a target (finite, up to 1e70) or not as long as it has to be is refused with a TypeError or a RangeError, and nothing
 *  has been learned. What is predicted is an array with one number per target: `const [answer] = model.predict(row)`. */
export class PocketRegressor extends Pocket<RegressorReport> {
    constructor(options: RegressorOptions);
    /** How many numbers are predicted for each row. */
    readonly outputs: number;

    /** Learn a row with its target, or an array of them; returns what was predicted before. */
    learn(row: Numbers, target: number | Numbers): Float64Array;
    /** Learn rows, one after another in one array, as are their targets; returns what was predicted, each from before its
     *  row was learned. All are checked first: if one is refused, none is learned. */
    predictThenLearn(rows: Numbers, targets: Numbers): Float64Array;
    /** What is predicted for a row. */
    predict(row: Numbers): Float64Array;
    /** What is predicted for rows, one after another in one array. */
    predictMany(rows: Numbers, count?: number): Float64Array;
    /** Lower and upper bound for each target of a row, between which this share of the targets is to lie, from 0.01 to
     *  0.999 (0.9 by default): over time, if each is asked for just before its row is learned. */
    interval(row: Numbers, coverage?: number): Float64Array;
    /** What is to be added to a prediction to have the bounds of its interval: the same for all rows until the next one is
     *  learned. */
    margins(coverage?: number): Float64Array;
    /** The model in a file that was saved here or in Python; an error for what Python would not load. */
    static load(bytes: ArrayBuffer | SharedArrayBuffer | ArrayBufferView): PocketRegressor;
}

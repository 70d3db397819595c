// PocketClassifier and PocketRegressor in the browser and in node: kernel learning on a stream, in a fixed number of bytes.
//
// The computation is the C++ core as WebAssembly, with the same bits as in Python: model files go back and forth.
// Every model is an instance of the module with memory of its own; it is freed with the object.

import { KERNELS, LEARNERS, LOSSES, MOST_CLASSES, PARAMETERS, REMOVALS, STORAGES, areNames, completed, decode, describeLabels, encode, labelsOf } from "./model_file.js";

const FAMILIES = Object.keys(KERNELS);
const WIDTHS = [4, 2, 1, 0.5, 0.25, 0.125];
// Which widths, by how many frequencies there is room for: the more, the more.
const ROOM = [[512, WIDTHS], [256, WIDTHS.slice(1, 5)], [128, WIDTHS.slice(1, 4)], [32, WIDTHS.slice(2, 4)], [0, []]];
// A learner of the same configuration is a little larger in Python, where addresses have 64 bits.
const LARGER_IN_PYTHON = 384;
// A ring of rows and ferns share the memory of the frequencies if there are more than two classes, or so many bytes and
// fewer columns than these.
const LEAST_BLOCK = 48 * 1024;
const WIDE = 64;
// Functions of single columns take part if the frequencies have at least so many times their bytes.
const LEAST_ADDITIVE = 16;
const MOST_COLUMNS = 1e6;
const MOST_OUTPUTS = 1000;
const PAGE = 65536;
const ALIGNMENT = 64;
const BLOCK = 4096; // rows that are handed over at once

let compiled = null;

/** Compile the module: once, before anything else. */
export async function init(source) {
    if (compiled) return;
    let bytes = source;
    if (!bytes || typeof bytes === "string" || bytes instanceof URL) {
        const url = bytes ? new URL(bytes, import.meta.url) : new URL("./pocketkernel.wasm", import.meta.url);
        if (url.protocol === "file:" && typeof process !== "undefined") {
            const { readFile } = await import("node:fs/promises");
            bytes = await readFile(url);
        } else {
            const answer = await fetch(url);
            if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
            bytes = await answer.arrayBuffer();
        }
    }
    compiled = await WebAssembly.compile(bytes);
}

/** Bytes from a number or a text such as "64KiB". */
export function parseBytes(memory) {
    if (Number.isSafeInteger(memory) && memory > 0) return memory;
    const found = typeof memory === "string" && /^\s*(\d{1,18}(?:\.\d+)?)\s*(B|KiB|MiB|GiB|kB|MB|GB)?\s*$/.exec(memory);
    const unit = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, kB: 1000, MB: 1e6, GB: 1e9 };
    if (!found) throw new RangeError(`memory=${shown(memory)} is not a number of bytes: use for example 65536 or "64KiB".`);
    return Math.floor(Number(found[1]) * unit[found[2] ?? "B"]);
}

// What was given, for a message.
function shown(value) {
    if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
    if (typeof value === "bigint") return `${value}n`;
    return ["number", "boolean", "undefined"].includes(typeof value) || value === null ? String(value) : `(${typeof value})`;
}

// A copy as doubles: what is checked is what is used, whoever else holds the array.
function numbers(values, name) {
    const typed = ArrayBuffer.isView(values) && !(values instanceof DataView);
    if (!typed && !Array.isArray(values)) throw new TypeError(`${name} is not an array of numbers.`);
    const copy = new Float64Array(values.length);
    for (let n = 0; n < copy.length; ++n) {
        const value = values[n];
        if (typeof value !== "number") throw new TypeError(`${name}[${n}]=${shown(value)} is not a number.`);
        copy[n] = value;
    }
    return copy;
}

/** An instance of the module, with arrays behind its heap base. */
class Core {
    constructor(recipe) {
        if (!compiled) throw new Error("call `await init()` before you make a model.");
        this.exports = new WebAssembly.Instance(compiled, {}).exports;
        this.configure(recipe);
    }

    configure(recipe) {
        const { configure, set_parameter, add_kernel } = this.exports;
        this.recipe = recipe;
        const { features, classes, budget, loss, removal, storage, seed } = recipe;
        const names = [LOSSES.indexOf(loss), REMOVALS.indexOf(removal), STORAGES.indexOf(storage)];
        configure(this.isRegressor, features, classes, budget, ...names, Number(seed & 0xffffffffn), Number(seed >> 32n));
        Object.keys(PARAMETERS).forEach((name, n) => set_parameter(n, Number(recipe[name])));
        for (const [family, parameter = 1, order = 1] of recipe.kernels)
            add_kernel(FAMILIES.indexOf(family), parameter, Number.isInteger(order) && order < 2 ** 32 ? order : 0);
    }

    /** Whether it learns numbers: then the recipe's classes are how many for each row. */
    get isRegressor() {
        return this.recipe.learner === LEARNERS.PocketRegressor.learner;
    }

    /** Status of the configuration; 0 if it can be built. */
    check() {
        return this.exports.check();
    }

    /** Bytes of the learner; infinite if there are no addresses for so many. */
    bytes() {
        const bytes = this.exports.bytes_needed() >>> 0;
        return bytes === 2 ** 32 - 1 ? Infinity : bytes;
    }

    build() {
        this.say(this.check());
        const { features, classes } = this.recipe;
        const size = this.bytes();
        this.state = this.exports.state_bytes_needed() >>> 0;
        this.rows = Math.max(1, Math.min(BLOCK, Math.floor((1 << 20) / (8 * Math.max(features, classes)))));
        let at = this.exports.__heap_base.value;
        const place = (bytes) => {
            at = Math.ceil(at / ALIGNMENT) * ALIGNMENT;
            const here = at;
            at += bytes;
            return here;
        };
        const block = place(size);
        this.at = {
            rows: place(8 * features * this.rows),
            labels: place(this.isRegressor ? 8 * classes * this.rows : 4 * this.rows),
            scores: place(8 * classes * Math.max(2, this.rows)), // or margins
            report: place(8 * (3 + this.recipe.kernels.length)),
            state: place(this.state),
        };
        const memory = this.exports.memory;
        const missing = Math.ceil((at - memory.buffer.byteLength) / PAGE);
        try {
            if (missing >= PAGE) throw new RangeError("no addresses");
            if (missing > 0) memory.grow(missing);
        } catch {
            throw new RangeError(`a model of ${size} bytes cannot be had here: use fewer columns or classes, or less memory.`);
        }
        this.learner = this.exports.make_learner(block, size) >>> 0;
        if (!this.learner) throw new Error("the model could not be built.");
    }

    // Refuses values that are not so many rows, or cannot be learned.
    checkRows(values, count) {
        const { features } = this.recipe;
        if (values.length !== count * features)
            throw new RangeError(`${count} rows of ${features} columns have ${count * features} values, but ${values.length} were given.`);
        this.eachBlock(values, count, (first, some) => this.say(this.exports.check_rows(this.learner, this.at.rows, some)));
    }

    // Hands over the rows in blocks.
    eachBlock(values, count, use) {
        const { features } = this.recipe;
        for (let first = 0; first < count; first += this.rows) {
            const some = Math.min(this.rows, count - first);
            this.view(Float64Array, this.at.rows, some * features).set(values.subarray(first * features, (first + some) * features));
            use(first, some);
        }
    }

    /** Scores of rows that were checked; take(scores, first, some) gets them block by block. Each row is learned after
     *  it was scored if there are labels: classes in an Int32Array, or numbers in a Float64Array. */
    run(values, labels, count, take) {
        const { classes } = this.recipe, each = this.isRegressor ? classes : 1;
        this.eachBlock(values, count, (first, some) => {
            if (labels) {
                this.view(labels.constructor, this.at.labels, some * each).set(labels.subarray(first * each, (first + some) * each));
                this.exports.learn(this.learner, this.at.rows, this.at.labels, some, this.at.scores);
            } else {
                this.exports.score(this.learner, this.at.rows, some, this.at.scores);
            }
            take(this.view(Float64Array, this.at.scores, some * classes), first, some);
        });
    }

    /** Scores of all these rows, in one array. */
    scores(values, labels, count) {
        const { classes } = this.recipe, all = new Float64Array(count * classes);
        this.run(values, labels, count, (scores, first) => all.set(scores, first * classes));
        return all;
    }

    view(Type, at, length) {
        return new Type(this.exports.memory.buffer, at, length);
    }

    say(status) {
        if (status === 0) return;
        const text = (at) => {
            const bytes = new Uint8Array(this.exports.memory.buffer, at >>> 0);
            return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
        };
        const { status_subject, status_sentence } = this.exports;
        throw new RangeError(`${text(status_subject(status))} ${text(status_sentence(status))}.`);
    }
}

const gaussians = (widths) => widths.map((width) => ["gaussian", width]);

// Kernels and the frequencies that they need, the best first, as in Python's PocketClassifier.
function choices(features, classes, lag) {
    const block = [["laplacian", 1], ["polynomial", 4]], last = lag ? [["linear"]] : [];
    const functions = classes === 2 ? 1 : classes, bytes = features + (4 * functions + 1) * 4, all = ROOM[0][0];
    const additive = Math.max(all, Math.floor(LEAST_ADDITIVE * 16 * functions * 4 * features / bytes));
    const always = classes > 2 ? block : features >= WIDE ? [["polynomial", 1]] : [];
    const some = ROOM.map(([least, widths]) => [least, [["linear"], ...(widths.length ? [...gaussians(widths), ...always, ...last] : [])]]);
    if (features < WIDE) some.unshift([additive, [["linear"], ...gaussians(WIDTHS), ...always, ["matern32", 1], ...last]]);
    if (classes === 2 && features < WIDE) {
        const least = Math.max(all, Math.floor(LEAST_BLOCK / bytes));
        some.unshift([least, [["linear"], ...gaussians(WIDTHS), ...block, ...last]]);
        some.unshift([Math.max(least, additive), [["linear"], ...gaussians(WIDTHS), ...block, ["matern32", 1], ...last]]);
    }
    return some;
}

// The recipe with the largest budget that fits into the memory, and the kernels that there is room for.
function choose(recipe, choices, memory) {
    const linear = { ...recipe, budget: 0, kernels: [["linear"]] };
    const core = new Core(linear);
    core.say(core.check());
    const fits = (kernels, budget) => {
        core.configure({ ...recipe, kernels, budget });
        return core.check() === 0 && core.bytes() + LARGER_IN_PYTHON <= memory;
    };
    const [, kernels] = choices.find(([budget, some]) => fits(some, budget)) ?? choices.at(-1);
    if (kernels.length === 1) {
        const enough = fits(kernels, 0), least = core.bytes() + LARGER_IN_PYTHON;
        if (!enough) throw new RangeError(`memory=${memory} bytes is too small: use at least ${Number.isFinite(least) ? least : "4GiB, in Python"}.`);
        return linear;
    }
    let low = 0, high = 1;
    while (fits(kernels, high)) [low, high] = [high, 2 * high];
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (fits(kernels, middle)) low = middle;
        else high = middle;
    }
    return { ...recipe, kernels, budget: low };
}

// What is to be built, but for kernels and budget; of a regressor, classes are how many numbers each row has.
const recipeOf = (estimator, features, classes, seed) => ({
    ...PARAMETERS, classes, doubles: false, features, learner: LEARNERS[estimator].learner, loss: "logistic",
    removal: "half", seed: BigInt(seed), storage: "full",
});

// What the file of a new model says about it.
function describe(estimator, recipe, labels, parameters) {
    const { features, classes, budget, seed, kernels } = recipe, { memory } = parameters;
    return {
        estimator, extra: {}, feature_names: null, labels, n_features: BigInt(features),
        parameters: { ...parameters, dtype: "float32", memory: typeof memory === "number" ? BigInt(memory) : memory, n_jobs: null, random_state: seed },
        recipe: {
            ...recipe, budget: BigInt(budget), classes: BigInt(classes), features: BigInt(features),
            kernels: kernels.map(([family, ...numbers]) => [family, ...(family === "polynomial" ? numbers.map(BigInt) : numbers)]),
        },
    };
}

/** Contents of a file of an estimator, for the constructor. */
class Contents {
    constructor(bytes, estimator) {
        Object.assign(this, decode(bytes, estimator));
    }
}

function checkOptions(features, seed) {
    if (!Number.isSafeInteger(features) || features < 1 || features > MOST_COLUMNS)
        throw new RangeError(`features=${shown(features)} is not a number of columns from 1 to 1,000,000.`);
    if (!(typeof seed === "bigint" || Number.isSafeInteger(seed)) || seed < 0 || seed >= 2n ** 64n)
        throw new RangeError(`seed=${shown(seed)} is not a whole number from 0 to 2^64 - 1; use a BigInt from 2^53 on.`);
}

// A classifier of these options.
function plannedClassifier({ features, classes = 2, memory = "64KiB", seed = 0, lag = true, linear = false } = {}) {
    checkOptions(features, seed);
    if (!Array.isArray(classes) && !(Number.isInteger(classes) && classes >= 2 && classes <= MOST_CLASSES))
        throw new RangeError(`classes=${shown(classes)} is not a number of classes from 2 to 10,000, nor a list of labels.`);
    for (const [name, value] of [["lag", lag], ["linear", linear]])
        if (typeof value !== "boolean") throw new TypeError(`${name}=${shown(value)} is neither true nor false.`);
    const labels = describeLabels(Array.isArray(classes) ? [...classes] : [...Array(classes).keys()]), count = labels.values.length;
    const room = parseBytes(memory), bare = recipeOf("PocketClassifier", features, count, seed);
    const recipe = linear ? { ...bare, budget: 0, kernels: [["linear"]] } : choose(bare, choices(features, count, lag), room);
    return { recipe, model: describe("PocketClassifier", recipe, labels, { lag, memory }) };
}

// A regressor of these options.
function plannedRegressor({ features, outputs = 1, memory = "64KiB", seed = 0, loss = "squared", quantile = 0.5 } = {}) {
    checkOptions(features, seed);
    if (!(Number.isInteger(outputs) && outputs >= 1 && outputs <= MOST_OUTPUTS))
        throw new RangeError(`outputs=${shown(outputs)} is not a number of targets from 1 to 1,000.`);
    const levels = { squared: 0, absolute: 0.5, quantile };
    if (typeof loss !== "string" || !Object.hasOwn(levels, loss))
        throw new RangeError(`loss=${shown(loss)} is not one of ${Object.keys(levels).map((name) => `"${name}"`).join(", ")}.`);
    if (typeof quantile !== "number" || (loss === "quantile" && !(quantile >= 0.001 && quantile <= 0.999)))
        throw new RangeError(`quantile=${shown(quantile)} is not a number from 0.001 to 0.999.`);
    const room = parseBytes(memory), bare = { ...recipeOf("PocketRegressor", features, outputs, seed), quantile: levels[loss] };
    const recipe = choose(bare, ROOM.map(([least, widths]) => [least, [["linear"], ...gaussians(widths)]]), room);
    return { recipe, model: describe("PocketRegressor", recipe, null, { loss, memory, quantile }) };
}

let inside; // of a model of this module: its core, and what its file says about it

/** What both learners have in common. */
class Pocket {
    #core;
    #model;
    #version; // of the library that wrote the file
    static {
        inside = (one) => ({ core: one.#core, model: one.#model });
    }

    constructor(options, planned) {
        const file = options instanceof Contents ? options : null;
        const { recipe, model } = file ? { recipe: completed(file.model.recipe), model: file.model } : planned(options);
        this.#model = model;
        this.#version = file?.version;
        this.#core = new Core(recipe);
        if (file) this.#checkState(file.state);
        this.#core.build();
        if (file) this.#restore(file.state);
        this.featureNames = model.feature_names;
    }

    get features() {
        return this.#core.recipe.features;
    }

    /** What was asked for. */
    get memory() {
        const { memory } = this.#model.parameters;
        return typeof memory === "bigint" ? Number(memory) : memory;
    }

    /** Bytes of the learner, constant from the first row on. */
    get nbytes() {
        return this.#core.bytes();
    }

    /** Frequencies, over all widths. */
    get budget() {
        return this.#core.recipe.budget;
    }

    /** Names of the experts, in the order of their weights. */
    get experts() {
        const kernels = this.#core.recipe.kernels;
        return kernels.map(([family, parameter], i) => {
            if (family === "gaussian") return `width ${parameter}`;
            if (family === "laplacian") return "nearest rows";
            if (family === "polynomial") return parameter === 1 ? "slow linear" : "ferns";
            if (family === "matern32") return "functions of columns";
            if (family === "linear") return i === 0 ? "linear" : "last labels";
            return family;
        });
    }

    /** Rows learned, mistakes of a classifier (each row was predicted before it was learned), summed loss, and a weight
     *  per expert. */
    report() {
        const { exports, at, learner, recipe, isRegressor } = this.#core;
        exports.report(learner, at.report);
        const [rows, mistakes, loss, ...weights] = this.#core.view(Float64Array, at.report, 3 + recipe.kernels.length);
        return { rows, ...(isRegressor ? {} : { mistakes }), loss, weights };
    }

    /** The model as the bytes of a file, which `pocketkernel.load` reads in Python. */
    save() {
        const core = this.#core, names = this.featureNames ?? null;
        if (!areNames(names, this.features)) throw new TypeError(`featureNames are not the names of ${this.features} columns.`);
        core.exports.save_state(core.learner, core.at.state);
        return encode({ ...this.#model, feature_names: names }, core.view(Uint8Array, core.at.state, core.state), this.#version);
    }

    // Before anything is allocated.
    #checkState(state) {
        const core = this.#core;
        core.say(core.check());
        const wanted = core.exports.state_bytes_needed() >>> 0;
        if (core.bytes() === Infinity || state.length !== wanted)
            throw new RangeError(`the state has ${state.length} bytes, and this model another number: another version wrote it, or it is damaged.`);
    }

    #restore(state) {
        const core = this.#core;
        core.view(Uint8Array, core.at.state, core.state).set(state);
        core.say(core.exports.load_state(core.learner, core.at.state, core.state));
    }
}

// Rows as numbers, and how many: as many as they are, unless it is said.
function counted(rows, features, count) {
    const values = numbers(rows, "rows"), given = count ?? Math.ceil(values.length / features);
    if (!Number.isSafeInteger(given) || given < 0) throw new RangeError(`count=${shown(count)} is not a number of rows.`);
    return [values, given];
}

/** A classifier that learns row by row, in a fixed number of bytes. */
export class PocketClassifier extends Pocket {
    #labels;
    #places; // of the labels, in ascending order of these

    /** @param {{features: number, classes?: number | unknown[], memory?: number | string, seed?: number | bigint,
     *           lag?: boolean, linear?: boolean}} options */
    constructor(options) {
        super(options, plannedClassifier);
        const { labels } = inside(this).model;
        this.#labels = Object.freeze(labelsOf(labels, this.classes));
        this.#places = labels.values.map((_, n) => Number(labels.places?.[n] ?? n));
    }

    get classes() {
        return inside(this).core.recipe.classes;
    }

    /** What the classes stand for; null for one that has not arrived yet, of a model with room for more. */
    get labels() {
        return this.#labels;
    }

    get lag() {
        return inside(this).model.parameters.lag ?? true;
    }

    /** Learn a row; returns the class (an index) that was predicted before. */
    learn(row, label) {
        return this.learnMany(row, [label])[0];
    }

    /** Learn rows, one after another in one array; returns the classes that were predicted, each before it was learned.
     *  All are checked first: if one is refused, none is learned. */
    learnMany(rows, labels) {
        const { core, model } = inside(this);
        if (model.parameters.class_weight ?? null)
            throw new TypeError("the model weighs its classes (class_weight), which is not done here: learn in Python, and predict here.");
        const values = numbers(rows, "rows"), classes = numbers(labels, "labels"), count = classes.length;
        const none = classes.findIndex((label) => (this.#labels[label] ?? null) === null);
        if (none >= 0) throw new RangeError(`labels[${none}]=${classes[none]} is not a class: use a whole number, the place of a label in model.labels.`);
        core.checkRows(values, count);
        const predicted = new Int32Array(count);
        core.run(values, Int32Array.from(classes), count, (scores, first, some) => {
            for (let n = 0; n < some; ++n) predicted[first + n] = this.#largest(scores, n * this.classes);
        });
        return predicted;
    }

    /** One score per class. */
    score(row) {
        return this.scoreMany(row, 1);
    }

    /** Scores of rows, one after another in one array: one per class for each row. */
    scoreMany(rows, count) {
        const { core } = inside(this), [values, given] = counted(rows, this.features, count);
        core.checkRows(values, given);
        return core.scores(values, null, given);
    }

    /** The class of a row, as an index. */
    predict(row) {
        return this.#largest(this.score(row), 0);
    }

    // Of equal scores the first, but of two classes the second.
    #largest(scores, from) {
        const places = this.#places, two = places.length === 2;
        return places.reduce((best, c) => (scores[from + c] > scores[from + best] || (two && scores[from + c] === scores[from + best]) ? c : best));
    }

    /** The model in a file that was saved here or in Python. */
    static load(bytes) {
        return new PocketClassifier(new Contents(bytes, "PocketClassifier"));
    }
}

/** A regressor that learns row by row, in a fixed number of bytes. */
export class PocketRegressor extends Pocket {
    /** @param {{features: number, outputs?: number, memory?: number | string, seed?: number | bigint,
     *           loss?: "squared" | "absolute" | "quantile", quantile?: number}} options */
    constructor(options) {
        super(options, plannedRegressor);
    }

    /** How many numbers are predicted for each row. */
    get outputs() {
        return inside(this).core.recipe.classes;
    }

    /** Learn a row with its target, or an array of them; returns what was predicted before. */
    learn(row, target) {
        return this.#learned(row, Array.isArray(target) || ArrayBuffer.isView(target) ? target : [target], 1);
    }

    /** Learn rows, one after another in one array, as are their targets; returns what was predicted, each before its row
     *  was learned. All are checked first: if one is refused, none is learned. */
    predictThenLearn(rows, targets) {
        return this.#learned(rows, targets);
    }

    #learned(rows, given, expected) {
        const { core } = inside(this), { outputs } = this;
        const values = numbers(rows, "rows"), targets = numbers(given, "targets");
        const count = expected ?? Math.floor(targets.length / outputs);
        if (targets.length !== count * outputs)
            throw new RangeError(`${targets.length} targets are not ${outputs} for each row: one after another in one array.`);
        const bad = targets.findIndex((target) => core.exports.check_target(target) !== 0);
        if (bad >= 0) throw new RangeError(`targets[${bad}]=${targets[bad]} is not a finite number up to 1e70: leave the row out, or rescale the targets.`);
        core.checkRows(values, count);
        return core.scores(values, targets, count);
    }

    /** What is predicted for a row: one number per target. */
    predict(row) {
        return this.predictMany(row, 1);
    }

    /** What is predicted for rows, one after another in one array. */
    predictMany(rows, count) {
        const { core } = inside(this), [values, given] = counted(rows, this.features, count);
        core.checkRows(values, given);
        return core.scores(values, null, given);
    }

    /** Lower and upper bound for each target of a row, between which this share of targets is to lie: for the row that is
     *  learned next. */
    interval(row, coverage = 0.9) {
        const margins = this.margins(coverage), answers = this.predict(row);
        return margins.map((margin, n) => answers[n >> 1] + margin).map((bound, n, all) => (n % 2 ? Math.max : Math.min)(bound, all[n ^ 1]));
    }

    /** What is to be added to a prediction to have the bounds of its interval: the same for all rows until the next one is
     *  learned. */
    margins(coverage = 0.9) {
        if (!(typeof coverage === "number" && coverage >= 0.01 && coverage <= 0.999))
            throw new RangeError(`coverage=${shown(coverage)} is not a share from 0.01 to 0.999.`);
        const { core } = inside(this), count = 2 * this.outputs;
        core.exports.margins(core.learner, coverage, core.at.scores);
        return core.view(Float64Array, core.at.scores, count).map((margin, n) => (n % 2 ? margin : -margin));
    }

    /** The model in a file that was saved here or in Python. */
    static load(bytes) {
        return new PocketRegressor(new Contents(bytes, "PocketRegressor"));
    }
}

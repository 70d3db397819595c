// PocketClassifier in the browser and in node: kernel learning on a stream, in a fixed number of bytes.
//
// The computation is the C++ core as WebAssembly, with the same bits as in Python: model files go back and forth.
// Every model is an instance of the module with memory of its own; it is freed with the object.

import { KERNELS, LOSSES, MOST_CLASSES, PARAMETERS, REMOVALS, STORAGES, areNames, completed, decode, describeLabels, encode, labelsOf } from "./model_file.js";

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
        const { features, classes, budget, loss, removal, storage, seed } = recipe;
        const names = [LOSSES.indexOf(loss), REMOVALS.indexOf(removal), STORAGES.indexOf(storage)];
        configure(features, classes, budget, ...names, Number(seed & 0xffffffffn), Number(seed >> 32n));
        Object.keys(PARAMETERS).forEach((name, n) => set_parameter(n, Number(recipe[name])));
        for (const [family, parameter = 1, order = 1] of recipe.kernels)
            add_kernel(FAMILIES.indexOf(family), parameter, Number.isInteger(order) && order < 2 ** 32 ? order : 0);
        this.recipe = recipe;
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
            labels: place(4 * this.rows),
            scores: place(8 * classes * this.rows),
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

// Kernels and the frequencies that they need, the best first, as in Python's PocketClassifier.
function choices(features, classes, lag) {
    const block = [["laplacian", 1], ["polynomial", 4]], last = lag ? [["linear"]] : [];
    const gaussians = (widths) => widths.map((width) => ["gaussian", width]);
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

// The largest budget that fits into the memory, with the kernels that there is room for.
function choose(features, classes, memory, seed, lag) {
    const core = new Core(recipeOf(features, classes, 0, seed, [["linear"]]));
    core.say(core.check());
    const fits = (kernels, budget) => {
        core.configure(recipeOf(features, classes, budget, seed, kernels));
        return core.check() === 0 && core.bytes() + LARGER_IN_PYTHON <= memory;
    };
    const all = choices(features, classes, lag);
    const [, kernels] = all.find(([budget, some]) => fits(some, budget)) ?? all.at(-1);
    if (kernels.length === 1) {
        const enough = fits(kernels, 0), least = core.bytes() + LARGER_IN_PYTHON;
        if (!enough) throw new RangeError(`memory=${memory} bytes is too small: use at least ${Number.isFinite(least) ? least : "4GiB, in Python"}.`);
        return core.recipe;
    }
    let low = 0, high = 1;
    while (fits(kernels, high)) [low, high] = [high, 2 * high];
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (fits(kernels, middle)) low = middle;
        else high = middle;
    }
    return recipeOf(features, classes, low, seed, kernels);
}

const recipeOf = (features, classes, budget, seed, kernels) => ({
    ...PARAMETERS, budget, classes, doubles: false, features, kernels, learner: "pocket_classifier", loss: "logistic",
    removal: "half", seed, storage: "full",
});

// What the file of a new model says about it.
function describe(recipe, labels, memory, lag) {
    const { features, classes, budget, seed, kernels } = recipe;
    return {
        estimator: "PocketClassifier", extra: {}, feature_names: null, labels, n_features: BigInt(features),
        parameters: { dtype: "float32", lag, memory: typeof memory === "number" ? BigInt(memory) : memory, n_jobs: null, random_state: seed },
        recipe: {
            ...recipe, budget: BigInt(budget), classes: BigInt(classes), features: BigInt(features),
            kernels: kernels.map(([family, ...numbers]) => [family, ...(family === "polynomial" ? numbers.map(BigInt) : numbers)]),
        },
    };
}

/** Contents of a file, for the constructor. */
class Contents {
    constructor(bytes) {
        Object.assign(this, decode(bytes));
    }
}

// What is to be built, of options.
function planned({ features, classes = 2, memory = "64KiB", seed = 0, lag = true, linear = false } = {}) {
    if (!Number.isSafeInteger(features) || features < 1 || features > MOST_COLUMNS)
        throw new RangeError(`features=${shown(features)} is not a number of columns from 1 to 1,000,000.`);
    if (!Array.isArray(classes) && !(Number.isInteger(classes) && classes >= 2 && classes <= MOST_CLASSES))
        throw new RangeError(`classes=${shown(classes)} is not a number of classes from 2 to 10,000, nor a list of labels.`);
    if (!(typeof seed === "bigint" || Number.isSafeInteger(seed)) || seed < 0 || seed >= 2n ** 64n)
        throw new RangeError(`seed=${shown(seed)} is not a whole number from 0 to 2^64 - 1; use a BigInt from 2^53 on.`);
    for (const [name, value] of [["lag", lag], ["linear", linear]])
        if (typeof value !== "boolean") throw new TypeError(`${name}=${shown(value)} is neither true nor false.`);
    const labels = describeLabels(Array.isArray(classes) ? [...classes] : [...Array(classes).keys()]), count = labels.values.length;
    const room = parseBytes(memory);
    const recipe = linear ? recipeOf(features, count, 0, BigInt(seed), [["linear"]]) : choose(features, count, room, BigInt(seed), lag);
    return { recipe, model: describe(recipe, labels, memory, lag) };
}

/** A classifier that learns row by row, in a fixed number of bytes. */
export class PocketClassifier {
    #core;
    #model; // what the file says about it
    #version; // of the library that wrote the file
    #labels;
    #places; // of the labels, in ascending order of these

    /** @param {{features: number, classes?: number | unknown[], memory?: number | string, seed?: number | bigint,
     *           lag?: boolean, linear?: boolean}} options */
    constructor(options) {
        const file = options instanceof Contents ? options : null;
        const { recipe, model } = file ? { recipe: completed(file.model.recipe), model: file.model } : planned(options);
        this.#model = model;
        this.#version = file?.version;
        this.#core = new Core(recipe);
        if (file) this.#checkState(file.state);
        this.#core.build();
        if (file) this.#restore(file.state);
        this.#labels = Object.freeze(labelsOf(model.labels, recipe.classes));
        this.#places = model.labels.values.map((_, n) => Number(model.labels.places?.[n] ?? n));
        this.featureNames = model.feature_names;
    }

    get features() {
        return this.#core.recipe.features;
    }

    get classes() {
        return this.#core.recipe.classes;
    }

    /** What the classes stand for; null for one that has not arrived yet, of a model with room for more. */
    get labels() {
        return this.#labels;
    }

    /** What was asked for. */
    get memory() {
        const { memory } = this.#model.parameters;
        return typeof memory === "bigint" ? Number(memory) : memory;
    }

    get lag() {
        return this.#model.parameters.lag ?? true;
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

    /** Rows learned, mistakes (each row was predicted before it was learned), summed loss, and a weight per expert. */
    report() {
        const { exports, at, learner, recipe } = this.#core;
        exports.report(learner, at.report);
        const [rows, mistakes, loss, ...weights] = this.#core.view(Float64Array, at.report, 3 + recipe.kernels.length);
        return { rows, mistakes, loss, weights };
    }

    /** Learn a row; returns the class (an index) that was predicted before. */
    learn(row, label) {
        return this.learnMany(row, [label])[0];
    }

    /** Learn rows, one after another in one array; returns the classes that were predicted, each before it was learned.
     *  All are checked first: if one is refused, none is learned. */
    learnMany(rows, labels) {
        if (this.#model.parameters.class_weight ?? null)
            throw new TypeError("the model weighs its classes (class_weight), which is not done here: learn in Python, and predict here.");
        const values = numbers(rows, "rows"), classes = numbers(labels, "labels");
        const none = classes.findIndex((label) => (this.#labels[label] ?? null) === null);
        if (none >= 0) throw new RangeError(`labels[${none}]=${classes[none]} is not a class: use a whole number, the place of a label in model.labels.`);
        this.#check(values, classes.length);
        return this.#run(values, classes, classes.length, () => {});
    }

    /** One score per class. */
    score(row) {
        return this.scoreMany(row, 1);
    }

    /** Scores of rows, one after another in one array: one per class for each row. */
    scoreMany(rows, count) {
        const values = numbers(rows, "rows"), given = count ?? Math.ceil(values.length / this.features);
        if (!Number.isSafeInteger(given) || given < 0) throw new RangeError(`count=${shown(count)} is not a number of rows.`);
        this.#check(values, given);
        const all = new Float64Array(given * this.classes);
        this.#run(values, null, given, (scores, first) => all.set(scores, first * this.classes));
        return all;
    }

    /** The class of a row, as an index. */
    predict(row) {
        return this.#largest(this.score(row), 0);
    }

    // Refuses values that are not so many rows, or cannot be learned.
    #check(values, count) {
        const core = this.#core, { features } = this;
        if (values.length !== count * features)
            throw new RangeError(`${count} rows of ${features} columns have ${count * features} values, but ${values.length} were given.`);
        this.#eachBlock(values, count, (first, some) => core.say(core.exports.check_rows(core.learner, core.at.rows, some)));
    }

    // Hands over the rows in blocks.
    #eachBlock(values, count, use) {
        const core = this.#core, { features } = this;
        for (let first = 0; first < count; first += core.rows) {
            const some = Math.min(core.rows, count - first);
            core.view(Float64Array, core.at.rows, some * features).set(values.subarray(first * features, (first + some) * features));
            use(first, some);
        }
    }

    #run(values, labels, count, take) {
        const core = this.#core, { classes } = this;
        const predicted = new Int32Array(count);
        this.#eachBlock(values, count, (first, some) => {
            if (labels) {
                core.view(Int32Array, core.at.labels, some).set(labels.subarray(first, first + some));
                core.exports.learn(core.learner, core.at.rows, core.at.labels, some, core.at.scores);
            } else {
                core.exports.score(core.learner, core.at.rows, some, core.at.scores);
            }
            const scores = core.view(Float64Array, core.at.scores, some * classes);
            take(scores, first);
            for (let n = 0; n < some; ++n) predicted[first + n] = this.#largest(scores, n * classes);
        });
        return predicted;
    }

    // Of equal scores the first, but of two classes the second.
    #largest(scores, from) {
        const places = this.#places, two = places.length === 2;
        return places.reduce((best, c) => (scores[from + c] > scores[from + best] || (two && scores[from + c] === scores[from + best]) ? c : best));
    }

    /** The model as the bytes of a file, which `pocketkernel.load` reads in Python. */
    save() {
        const core = this.#core, names = this.featureNames ?? null;
        if (!areNames(names, this.features)) throw new TypeError(`featureNames are not the names of ${this.features} columns.`);
        core.exports.save_state(core.learner, core.at.state);
        return encode({ ...this.#model, feature_names: names }, core.view(Uint8Array, core.at.state, core.state), this.#version);
    }

    /** The model in a file that was saved here or in Python. */
    static load(bytes) {
        return new PocketClassifier(new Contents(bytes));
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

// PocketClassifier in the browser and in node: kernel learning on a stream, in a fixed number of bytes.
//
// The computation is the C++ core as WebAssembly, with the same bits as in Python: model files go back and forth.
// Every model is an instance of the module with memory of its own; it is freed with the object.

const KERNELS = ["gaussian", "laplacian", "polynomial", "linear", "matern32", "matern52", "rational_quadratic"];
const WIDTHS = [4, 2, 1, 0.5, 0.25, 0.125];
// Which widths, by how many frequencies there is room for: the more, the more.
const ROOM = [[512, WIDTHS], [256, WIDTHS.slice(1, 5)], [128, WIDTHS.slice(1, 4)], [32, WIDTHS.slice(2, 4)], [0, []]];
// A learner of the same configuration is a little larger in Python, where addresses have 64 bits.
const LARGER_IN_PYTHON = 320;
// A ring of rows and ferns share the memory of the frequencies if there are more than two classes, or so many bytes and
// fewer columns than these.
const LEAST_BLOCK = 48 * 1024;
const WIDE = 64;
// Functions of single columns take part if the frequencies have at least so many times their bytes.
const LEAST_ADDITIVE = 16;
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
    if (typeof memory === "number" && Number.isInteger(memory) && memory > 0) return memory;
    const found = /^\s*(\d+(?:\.\d+)?)\s*(B|KiB|MiB|kB|MB)?\s*$/.exec(String(memory));
    const unit = { B: 1, KiB: 1024, MiB: 1024 ** 2, kB: 1000, MB: 1e6 };
    if (!found) throw new RangeError(`memory=${memory} is not a number of bytes: use for example 65536 or "64KiB".`);
    return Math.floor(Number(found[1]) * unit[found[2] ?? "B"]);
}

/** An instance of the module, with arrays behind its heap base. */
class Core {
    constructor(recipe) {
        if (!compiled) throw new Error("call `await init()` before you make a model.");
        this.exports = new WebAssembly.Instance(compiled, {}).exports;
        this.configure(recipe);
    }

    configure(recipe) {
        const { configure, add_kernel } = this.exports;
        const seed = BigInt(recipe.seed);
        configure(
            recipe.features, recipe.classes, recipe.budget, Number(seed & 0xffffffffn), Number(seed >> 32n & 0xffffffffn));
        for (const [family, parameter = 1, order = 1] of recipe.kernels)
            add_kernel(KERNELS.indexOf(family), parameter, order);
        this.recipe = recipe;
    }

    /** Status of the configuration; 0 if it can be built. */
    check() {
        return this.exports.check();
    }

    bytes() {
        return this.exports.bytes_needed();
    }

    build() {
        this.say(this.check());
        const { features, classes } = this.recipe;
        this.state = this.exports.state_bytes_needed();
        this.rows = Math.max(1, Math.min(BLOCK, Math.floor((1 << 20) / (8 * features))));
        let at = this.exports.__heap_base.value;
        const place = (bytes) => {
            at = Math.ceil(at / ALIGNMENT) * ALIGNMENT;
            const here = at;
            at += bytes;
            return here;
        };
        const size = this.bytes();
        const block = place(size);
        this.at = {
            rows: place(8 * features * this.rows),
            labels: place(4 * this.rows),
            scores: place(8 * classes * this.rows),
            report: place(8 * (3 + this.recipe.kernels.length)),
            state: place(this.state),
        };
        const memory = this.exports.memory;
        const missing = at - memory.buffer.byteLength;
        if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
        this.learner = this.exports.make_learner(block, size);
        if (!this.learner) throw new Error("the model could not be built.");
    }

    view(Type, at, length) {
        return new Type(this.exports.memory.buffer, at, length);
    }

    say(status) {
        if (status === 0) return;
        const text = (at) => {
            const bytes = new Uint8Array(this.exports.memory.buffer, at);
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
    const recipe = (kernels, budget) => ({ features, classes, budget, seed, kernels });
    const bytes = (candidate) => {
        const core = new Core(candidate);
        core.say(core.check());
        return core.bytes() + LARGER_IN_PYTHON;
    };
    const all = choices(features, classes, lag);
    const [, kernels] = all.find(([budget, some]) => bytes(recipe(some, budget)) <= memory) ?? all.at(-1);
    if (kernels.length === 1) {
        const least = bytes(recipe(kernels, 0));
        if (least > memory) throw new RangeError(`memory=${memory} bytes is too small: use at least ${least}.`);
        return recipe(kernels, 0);
    }
    let low = 0, high = 1;
    while (bytes(recipe(kernels, high)) <= memory) [low, high] = [high, 2 * high];
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (bytes(recipe(kernels, middle)) <= memory) low = middle;
        else high = middle;
    }
    return recipe(kernels, low);
}

/** A classifier that learns row by row, in a fixed number of bytes. */
export class PocketClassifier {
    #core;
    #file;

    /** @param {{features: number, classes?: number | unknown[], memory?: number | string, seed?: number, lag?: boolean,
     *           linear?: boolean}} options */
    constructor({ features, classes = 2, memory = "64KiB", seed = 0, lag = true, linear = false, recipe, file } = {}) {
        this.labels = Array.isArray(classes) ? [...classes] : Array.from({ length: classes }, (_, c) => c);
        if (!recipe) {
            if (!this.labels.every((label, c) => c === 0 || this.labels[c - 1] < label))
                throw new RangeError("classes must be in ascending order, each only once.");
            if (!Number.isInteger(features) || features < 1) throw new RangeError(`features=${features} is not a number of columns.`);
            const count = this.labels.length;
            recipe = linear
                ? { features, classes: count, budget: 0, seed, kernels: [["linear"]] }
                : choose(features, count, parseBytes(memory), seed, lag);
        }
        this.memory = memory;
        this.lag = lag;
        this.#core = new Core(recipe);
        this.#core.build();
        this.#file = file ?? null;
    }

    get features() {
        return this.#core.recipe.features;
    }

    get classes() {
        return this.#core.recipe.classes;
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

    /** Learn rows, one after another in one array; returns the classes that were predicted, each before it was learned. */
    learnMany(rows, labels) {
        return this.#run(rows, labels, labels.length, (scores) => scores);
    }

    /** One score per class. */
    score(row) {
        return this.scoreMany(row, 1);
    }

    /** Scores of rows, one after another in one array: one per class for each row. */
    scoreMany(rows, count = rows.length / this.features) {
        const all = new Float64Array(count * this.classes);
        this.#run(rows, null, count, (scores, first) => all.set(scores, first * this.classes));
        return all;
    }

    /** The class of a row, as an index. */
    predict(row) {
        return largest(this.score(row), 0, this.classes);
    }

    #run(rows, labels, count, take) {
        const core = this.#core;
        const { features, classes } = this;
        if (rows.length !== count * features)
            throw new RangeError(`${count} rows of ${features} columns have ${count * features} values, but ${rows.length} were given.`);
        const predicted = new Int32Array(count);
        for (let first = 0; first < count; first += core.rows) {
            const some = Math.min(core.rows, count - first);
            core.view(Float64Array, core.at.rows, some * features).set(rows.slice(first * features, (first + some) * features));
            let status;
            if (labels) {
                core.view(Int32Array, core.at.labels, some).set(labels.slice(first, first + some));
                status = core.exports.learn(core.learner, core.at.rows, core.at.labels, some, core.at.scores);
            } else {
                status = core.exports.score(core.learner, core.at.rows, some, core.at.scores);
            }
            core.say(status);
            const scores = core.view(Float64Array, core.at.scores, some * classes);
            take(scores, first);
            for (let n = 0; n < some; ++n) predicted[first + n] = largest(scores, n * classes, classes);
        }
        return predicted;
    }

    /** The model as the bytes of a file, which `pocketkernel.load` reads in Python. */
    save() {
        const core = this.#core;
        core.exports.save_state(core.learner, core.at.state);
        return writeFile(this.#file ?? describe(this, core.recipe), core.view(Uint8Array, core.at.state, core.state));
    }

    /** The model in a file that was saved here or in Python. */
    static load(bytes) {
        const { metadata, state } = readFile(bytes);
        const model = JSON.parse(metadata.model);
        if (model.estimator !== "PocketClassifier")
            throw new TypeError(`the file contains a ${model.estimator}, and only PocketClassifier runs here.`);
        const recipe = model.recipe;
        if (recipe.doubles) throw new TypeError("the file contains a model in double precision (dtype='float64'): train it with float32.");
        if (Object.keys(model.extra ?? {}).length) throw new TypeError("the file contains a model of pocketkernel.river: save the learner itself.");
        const seed = seedOf(metadata.model);
        const made = new PocketClassifier({
            classes: model.labels.values,
            memory: model.parameters.memory,
            lag: model.parameters.lag,
            recipe: { features: recipe.features, classes: recipe.classes, budget: recipe.budget, seed, kernels: recipe.kernels },
            file: metadata,
        });
        made.featureNames = model.feature_names;
        made.#restore(state);
        return made;
    }

    #restore(state) {
        const core = this.#core;
        if (state.length !== core.state) throw new RangeError(`the state has ${state.length} bytes, and this model ${core.state}: another version wrote it.`);
        core.view(Uint8Array, core.at.state, core.state).set(state);
        core.say(core.exports.load_state(core.learner, core.at.state, core.state));
    }
}

// Of equal scores the first, but of two classes the second.
function largest(scores, from, classes) {
    let best = 0;
    for (let c = 1; c < classes; ++c)
        if (scores[from + c] > scores[from + best] || (classes === 2 && scores[from + c] === scores[from + best])) best = c;
    return best;
}

// ---- model files: 8 bytes with the length of a header, the header as JSON, the state -----------------------------------

// JSON as Python writes it: sorted keys, no spaces, ASCII; numbers are given as their text.
class Text {
    constructor(text) {
        this.text = text;
    }
}
function canonical(value) {
    if (value instanceof Text) return value.text;
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value && typeof value === "object")
        return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
    return JSON.stringify(value).replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// A floating-point number as Python writes it, for numbers of common size.
function real(value) {
    return new Text(Number.isInteger(value) ? `${value}.0` : String(value));
}

// The seed may be larger than JavaScript's exact integers.
function seedOf(text) {
    return BigInt(/"seed":(\d+)/.exec(text)[1]);
}

function describe(model, recipe) {
    const numeric = model.labels.every((label) => Number.isInteger(label));
    const longest = Math.max(1, ...model.labels.map((label) => [...String(label)].length));
    const description = {
        estimator: "PocketClassifier",
        extra: {},
        feature_names: model.featureNames ?? null,
        labels: numeric
            ? { dtype: "<i8", values: model.labels }
            : { dtype: `<U${longest}`, values: model.labels.map(String) },
        n_features: recipe.features,
        parameters: { dtype: "float32", lag: model.lag, memory: model.memory, n_jobs: null, random_state: new Text(String(recipe.seed)) },
        recipe: {
            budget: recipe.budget, classes: recipe.classes, doubles: false, features: recipe.features,
            horizon: real(1e9), kernels: recipe.kernels.map(([family, ...numbers]) => [family, ...(family === "polynomial" ? numbers : numbers.map(real))]),
            learner: "pocket_classifier", loss: "logistic", norm_bound: real(1), nu: real(0.5), quantile: real(0),
            rate: real(0.1), regularization: real(0), removal: "half", reservoir: 10, seed: new Text(String(recipe.seed)),
            step: real(1), storage: "full",
        },
    };
    return { format: "pocketkernel", format_version: "1", library_version: "0.1.0", model: canonical(description) };
}

function writeFile(metadata, state) {
    const own = { ...metadata };
    delete own.sha256;
    own.sha256 = sha256(new TextEncoder().encode(canonical(own)), state);
    const tensor = { dtype: "U8", shape: [state.length], data_offsets: [0, state.length] };
    let header = canonical({ __metadata__: own, state: tensor });
    header += " ".repeat((8 - (header.length % 8)) % 8);
    const bytes = new Uint8Array(8 + header.length + state.length);
    new DataView(bytes.buffer).setUint32(0, header.length, true);
    bytes.set(new TextEncoder().encode(header), 8);
    bytes.set(state, 8 + header.length);
    return bytes;
}

function readFile(bytes) {
    const data = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
    const bad = (why) => new TypeError(`this is not a model file of pocketkernel: ${why}.`);
    if (data.length < 8) throw bad("it is too short");
    const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
    if (length > data.length - 8) throw bad("it is too short for its header");
    let header;
    try {
        header = JSON.parse(new TextDecoder().decode(data.subarray(8, 8 + length)));
    } catch {
        throw bad("its header is not JSON");
    }
    const metadata = header.__metadata__;
    if (metadata?.format !== "pocketkernel" || !header.state) throw bad("its header says so");
    if (metadata.format_version !== "1") throw new TypeError("the file belongs to a run or to a newer version: save the model itself.");
    const state = data.subarray(8 + length);
    if (state.length !== header.state.data_offsets[1]) throw bad("it is truncated");
    const { sha256: expected, ...own } = metadata;
    if (sha256(new TextEncoder().encode(canonical(own)), state) !== expected) throw bad("it is damaged, its checksum is wrong");
    return { metadata, state };
}

// FIPS 180-4. Browsers have it too, but not on pages without HTTPS.
function sha256(...pieces) {
    const root = (x, n) => ((x ** (1 / n)) % 1) * 2 ** 32 | 0;
    const primes = [];
    for (let n = 2; primes.length < 64; ++n) if (primes.every((p) => n % p)) primes.push(n);
    const K = primes.map((p) => root(p, 3));
    const H = primes.slice(0, 8).map((p) => root(p, 2));
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const data = new Uint8Array(Math.ceil((length + 9) / 64) * 64);
    pieces.reduce((at, piece) => (data.set(piece, at), at + piece.length), 0);
    data[length] = 0x80;
    const view = new DataView(data.buffer);
    view.setUint32(data.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(data.length - 4, length * 8);
    const turn = (x, n) => x >>> n | x << 32 - n;
    const w = new Int32Array(64);
    for (let at = 0; at < data.length; at += 64) {
        for (let i = 0; i < 16; ++i) w[i] = view.getInt32(at + 4 * i);
        for (let i = 16; i < 64; ++i) {
            const a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >>> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >>> 10);
        }
        let [a, b, c, d, e, f, g, h] = H;
        for (let i = 0; i < 64; ++i) {
            const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + K[i] + w[i] | 0;
            const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c) | 0;
            [h, g, f, e, d, c, b, a] = [g, f, e, d + one | 0, c, b, a, one + two | 0];
        }
        [a, b, c, d, e, f, g, h].forEach((x, i) => (H[i] = H[i] + x | 0));
    }
    return H.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}

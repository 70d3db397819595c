// The bytes of a model file: 8 bytes with the length of a header, the header as JSON, the state; see model_file.py.
//
// A file is accepted only if Python accepts it, too: it is written in the one way that Python writes it, and all that
// it says about the model is checked before the model is built. In what is read whole numbers are BigInts, others Numbers.

/** Families of kernels, in the core's order, and how many numbers each has. */
export const KERNELS = { gaussian: 1, laplacian: 1, polynomial: 1, linear: 0, matern32: 1, matern52: 1, rational_quadratic: 2 };
export const LOSSES = ["hinge", "logistic", "smooth_hinge"];
export const REMOVALS = ["half", "restart", "oldest", "eager"];
export const STORAGES = ["full", "float16", "bfloat16"];
/** Numbers that learners have besides their sizes, in the core's order, with its defaults; PocketRegressor uses `quantile`. */
export const PARAMETERS = {
    step: 1, norm_bound: 1, reservoir: 10n, horizon: 1e9, nu: 0.5, rate: 0.1, regularization: 0, quantile: 0,
};
export const MOST_CLASSES = 10000;
const MOST_KERNELS = 32;

const BEGIN = '{"__metadata__":{"format":"pocketkernel"';
const LARGEST_HEADER = 2 ** 25;
const METADATA = ["format", "format_version", "library_version", "model", "sha256"];
const FIELDS = ["estimator", "extra", "feature_names", "labels", "n_features", "parameters", "recipe"];
/** The learners that run here: what a recipe calls them, and their parameters in Python. */
export const LEARNERS = {
    PocketClassifier: {
        learner: "pocket_classifier",
        parameters: ["memory", "lag", "dtype", "n_classes", "class_weight", "shuffle", "epochs", "n_jobs", "random_state"],
    },
    PocketRegressor: {
        learner: "pocket_regressor",
        parameters: ["memory", "loss", "quantile", "dtype", "shuffle", "epochs", "n_jobs", "random_state"],
    },
};
// Fields of a recipe; one with a default may be missing.
const RECIPE = {
    learner: "string", doubles: "boolean", kernels: "object", loss: "string", removal: "string", features: "bigint",
    seed: "bigint", classes: "bigint", storage: "string", budget: "bigint",
};
const DEFAULTS = { classes: 2n, storage: "full", budget: 0n, ...PARAMETERS };
const MOST_LABEL_BYTES = 2 ** 24;
const DEEPEST = 50; // brackets within brackets

const bad = (why) => new TypeError(`this is not a model file of pocketkernel: ${why}.`);
const damaged = (why) => new TypeError(`the model file is damaged: ${why}.`);

// ---- JSON as Python writes it ------------------------------------------------------------------------------------------

/** The one text of a value: sorted keys, no spaces, ASCII. */
export function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (typeof value === "bigint") return String(value);
    if (typeof value === "number") return real(value);
    if (value && typeof value === "object")
        return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
    return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// A floating-point number: as in JavaScript, but for ".0" and for when and how exponents are written.
function real(x) {
    if (Object.is(x, -0)) return "-0.0";
    const [digits, exponent] = x.toExponential().split("e"), e = Number(exponent);
    if (e >= -4 && e < 16) return Number.isInteger(x) ? `${x}.0` : String(x);
    return `${digits}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
}

// The value of a text that `canonical` gives; an error for others, or a value that has another text.
function parse(text) {
    const word = /-?\d+(?:\.\d+)?(?:e[+-]\d+)?|true|false|null/y;
    let at = 0;
    const expect = (good) => {
        if (!good) throw new SyntaxError("not JSON");
    };
    const string = () => {
        const from = at++;
        while (text[at] !== '"') {
            at += text[at] === "\\" ? 2 : 1;
            expect(at < text.length);
        }
        return JSON.parse(text.slice(from, ++at));
    };
    const list = (closing, depth, read) => {
        expect(depth < DEEPEST);
        if (text[++at] === closing) return ++at;
        do read(depth + 1);
        while (text[at++] === ",");
        expect(text[at - 1] === closing);
    };
    const value = (depth) => {
        if (text[at] === '"') return string();
        if (text[at] === "[") {
            const values = [];
            list("]", depth, (deeper) => values.push(value(deeper)));
            return values;
        }
        if (text[at] === "{") {
            const values = Object.create(null);
            list("}", depth, (deeper) => {
                expect(text[at] === '"');
                const key = string();
                expect(text[at++] === ":");
                values[key] = value(deeper);
            });
            return values;
        }
        word.lastIndex = at;
        const found = word.exec(text)?.[0];
        expect(found);
        at += found.length;
        return /^-?\d+$/.test(found) ? BigInt(found) : JSON.parse(found);
    };
    const whole = value(0);
    expect(at === text.length);
    return whole;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
// Whether Python can store the value exactly.
function isPlain(value) {
    if (typeof value === "bigint") return value >= -(2n ** 63n) && value < 2n ** 64n;
    return value === null || ["boolean", "string", "number"].includes(typeof value);
}

// ---- the file ----------------------------------------------------------------------------------------------------------

/** The file of a model: its description, its state, and the version of the library that wrote it first. */
export function encode(model, state, library_version = "0.1.0") {
    const metadata = { format: "pocketkernel", format_version: "1", library_version, model: canonical(model) };
    const ascii = new TextEncoder();
    const header = headerOf({ ...metadata, sha256: sha256(ascii.encode(canonical(metadata)), state) }, state.length);
    const bytes = new Uint8Array(8 + header.length + state.length);
    new DataView(bytes.buffer).setUint32(0, header.length, true);
    bytes.set(ascii.encode(header), 8);
    bytes.set(state, 8 + header.length);
    return bytes;
}

function headerOf(metadata, size) {
    const length = BigInt(size);
    const header = canonical({ __metadata__: metadata, state: { dtype: "U8", shape: [length], data_offsets: [0n, length] } });
    return header + " ".repeat((8 - (header.length % 8)) % 8);
}

/** Description, state and version of a file; a TypeError if Python would refuse it, or if it is not of that estimator. */
export function decode(bytes, estimator) {
    const data = copyOf(bytes);
    if (data.length < 8) throw bad("it is too short");
    const length = Number(new DataView(data.buffer).getBigUint64(0, true));
    if (length > Math.min(LARGEST_HEADER, data.length - 8)) throw bad("it is too short for its header");
    const text = new TextDecoder().decode(data.subarray(8, 8 + length)), state = data.subarray(8 + length);
    if (!text.startsWith(BEGIN)) throw bad("its header says so");
    let header;
    try {
        header = JSON.parse(text);
    } catch {
        throw damaged("its header is not JSON");
    }
    const metadata = header.__metadata__, size = header.state?.shape?.[0];
    if (!isObject(metadata) || metadata.format !== "pocketkernel") throw bad("its header says so");
    if (metadata.format_version !== "1") throw new TypeError("the file belongs to a run or to a newer version: save the model itself.");
    if (Object.keys(metadata).sort().join() !== METADATA.join() || !METADATA.every((name) => typeof metadata[name] === "string"))
        throw damaged("its metadata is not that of a model");
    if (size > state.length) throw damaged("it is truncated");
    const { sha256: expected, ...own } = metadata;
    if (sha256(new TextEncoder().encode(canonical(own)), state) !== expected) throw damaged("its checksum is wrong");
    if (text !== headerOf(metadata, state.length)) throw damaged("its header is not written as pocketkernel writes it");
    let model;
    try {
        model = parse(metadata.model);
        if (!isObject(model) || canonical(model) !== metadata.model) throw new SyntaxError("written in another way");
    } catch {
        throw damaged("its model is not proper JSON");
    }
    checkModel(model, estimator);
    return { model, state, version: metadata.library_version };
}

// The bytes, which nobody else can change.
function copyOf(bytes) {
    try {
        if (ArrayBuffer.isView(bytes)) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
        if (/ArrayBuffer\]$/.test(Object.prototype.toString.call(bytes))) return new Uint8Array(bytes).slice();
    } catch {
        // A buffer that was transferred has no bytes.
    }
    throw new TypeError("a model is read from its bytes: give an ArrayBuffer or a Uint8Array.");
}

// ---- what it says about the model --------------------------------------------------------------------------------------

function checkModel(model, estimator) {
    if (model.estimator !== estimator) {
        const name = typeof model.estimator === "string" ? model.estimator.slice(0, 40) : "model without a name";
        const advice = Object.hasOwn(LEARNERS, name) ? `use ${name}.load` : `only ${Object.keys(LEARNERS).join(" and ")} run here`;
        throw new TypeError(`the file contains a ${name}, not a ${estimator}: ${advice}.`);
    }
    if (Object.keys(model).sort().join() !== FIELDS.join()) throw damaged("it has a missing or unknown field");
    const { parameters, recipe, labels, feature_names: names, n_features: features, extra } = model;
    checkRecipe(recipe, LEARNERS[estimator].learner);
    if (recipe.doubles) throw new TypeError("the file contains a model in double precision (dtype='float64'): train it with float32.");
    if (!isObject(extra)) throw damaged("its extra is invalid");
    if (Object.keys(extra).length) throw new TypeError("the file contains a model of pocketkernel.river: save the learner itself.");
    checkParameters(parameters, LEARNERS[estimator].parameters);
    if (features !== recipe.features || !areNames(names, features)) throw damaged("it does not name the columns of its recipe");
    if (estimator === "PocketRegressor") {
        if (labels !== null) throw damaged("it has labels, which a regressor does not use");
        return;
    }
    if (!isObject(labels)) throw damaged("it has no labels");
    checkLabels(labels, recipe.classes);
}

/** Whether these are names of so many columns, or null for none. */
export function areNames(names, features) {
    return names === null || (Array.isArray(names) && names.length === Number(features) && names.every((name) => typeof name === "string"));
}

function checkRecipe(recipe, expected) {
    if (!isObject(recipe)) throw damaged("it has no recipe");
    const known = { ...PARAMETERS, ...RECIPE };
    for (const name of Object.keys(recipe)) if (!Object.hasOwn(known, name)) throw damaged("its recipe has an unknown field");
    for (const name of Object.keys(known)) {
        if (!(name in recipe) && name in DEFAULTS) continue;
        const value = recipe[name], type = RECIPE[name] ?? typeof PARAMETERS[name];
        if (typeof value !== type || (type === "bigint" && !(value >= 0n && value < 2n ** 64n))) throw damaged(`its recipe has an invalid ${name}`);
    }
    const { kernels, loss, removal, storage = "full", learner } = recipe;
    if (learner !== expected) throw damaged("its recipe is that of another learner");
    if (!LOSSES.includes(loss) || !REMOVALS.includes(removal) || !STORAGES.includes(storage)) throw damaged("its recipe has an unknown name");
    const isKernel = (kernel) =>
        Array.isArray(kernel) && typeof kernel[0] === "string" && Object.hasOwn(KERNELS, kernel[0]) && kernel.length === 1 + KERNELS[kernel[0]] &&
        kernel.slice(1).every((number) => typeof number === "bigint" || typeof number === "number");
    if (!Array.isArray(kernels) || kernels.length > MOST_KERNELS || !kernels.every(isKernel)) throw damaged("its recipe has an unknown kernel");
}

/** A recipe with all its fields, its numbers as the core takes them: sizes are cut at 2^32 - 1, which it refuses. */
export function completed(recipe) {
    const whole = { ...DEFAULTS, ...recipe };
    for (const name of ["features", "classes", "budget", "reservoir"]) whole[name] = Number(whole[name] < 2n ** 32n ? whole[name] : 2n ** 32n - 1n);
    whole.kernels = whole.kernels.map(([family, ...numbers]) => [family, ...numbers.map(Number)]);
    return whole;
}

function checkParameters(parameters, known) {
    if (!isObject(parameters)) throw damaged("it has no parameters");
    for (const [name, value] of Object.entries(parameters)) {
        if (!known.includes(name)) throw damaged("it has an unknown parameter");
        if (name === "class_weight" ? !isClassWeight(value) : !isPlain(value)) throw damaged(`its ${name} is invalid`);
    }
}
function isClassWeight(value) {
    const isWeight = (weight) => ["number", "bigint"].includes(typeof weight) && weight >= 0 && weight <= 1e9;
    if (isObject(value)) return Object.values(value).every(isWeight);
    if (!Array.isArray(value)) return value === null || value === "balanced";
    return value.every((pair) => Array.isArray(pair) && pair.length === 2 && isPlain(pair[0]) && isWeight(pair[1]));
}

// ---- labels ------------------------------------------------------------------------------------------------------------

/** The labels in the order of their places in the core; null where there is none yet. */
export function labelsOf({ values, places }, classes) {
    const labels = Array(Number(classes)).fill(null);
    values.forEach((value, n) => (labels[places ? Number(places[n]) : n] = isSafe(value) ? Number(value) : value));
    return labels;
}
const isSafe = (value) => typeof value === "bigint" && Number.isSafeInteger(Number(value));

/** Labels that are given, as a file has them; an error if it cannot. */
export function describeLabels(given) {
    if (given.length < 2 || given.length > MOST_CLASSES) throw new RangeError(`classes has ${given.length} labels: 2 to ${MOST_CLASSES} are possible.`);
    const numeric = given.every((label) => Number.isSafeInteger(label)), texts = given.every((label) => typeof label === "string");
    if (!numeric && !texts) throw new TypeError("classes must be all whole numbers or all strings.");
    const values = numeric ? given.map(BigInt) : given, longest = Math.max(1, ...values.map((label) => [...String(label)].length));
    const labels = { dtype: numeric ? "<i8" : `<U${longest}`, values };
    if (!areAscending(values)) throw new RangeError("classes must be in ascending order, each only once.");
    if (!areLabels(labels)) throw new RangeError("classes has strings that are too long, or end with a null character.");
    return labels;
}

function checkLabels(labels, room) {
    const { places, counts, ...own } = labels, n = own.values?.length;
    if (!areLabels(own)) throw damaged("its labels are invalid");
    if (n < 1 || n > room) throw damaged(`it has ${n} labels, but a recipe for ${room}`);
    const arePlaces = (some) => some.every((place) => typeof place === "bigint" && place >= 0n && place < room) && new Set(some).size === n;
    const isCount = (count) => typeof count === "string" && /^0[0-9]{19}$/.test(count);
    const areCounts = (some) => some.every(isCount) && some.reduce((sum, count) => sum + BigInt(count), 0n) < 2n ** 62n;
    const fine = (some, check) => (some ?? null) === null || (Array.isArray(some) && some.length === n && check(some));
    if (!fine(places, arePlaces) || !fine(counts, areCounts)) throw damaged("its labels are invalid");
}

// Whether NumPy, with this dtype, has these values.
function areLabels(labels) {
    if (Object.keys(labels).sort().join() !== "dtype,values" || typeof labels.dtype !== "string" || !Array.isArray(labels.values)) return false;
    const { dtype, values } = labels, [, order, kind, size] = /^([<>|])([biufUO])(\d{0,8})$/.exec(dtype) ?? [];
    const n = Number(size), whole = (low, high) => (value) => typeof value === "bigint" && value >= low && value < high;
    const fits = {
        b: () => n === 1 && ((value) => typeof value === "boolean"),
        i: () => whole(-(2n ** BigInt(8 * n - 1)), 2n ** BigInt(8 * n - 1)),
        u: () => whole(0n, 2n ** BigInt(8 * n)),
        f: () => n > 1 && ((value) => typeof value === "number" && isRounded(value, n)),
        U: () => n > 0 && ((value) => typeof value === "string" && !value.endsWith("\0") && [...value].length <= n),
        O: () => (value) => typeof value === "string",
    };
    const sized = kind === "U" ? /^[1-9]/.test(size) : kind === "O" ? size === "" : ["1", "2", "4", "8"].includes(size);
    if (!sized || (order === "|") !== (kind === "O" || (kind !== "U" && n === 1))) return false;
    if (values.length * 4 * (kind === "U" ? n : 2) > MOST_LABEL_BYTES) return false;
    const fit = fits[kind]();
    return Boolean(fit) && values.every(fit) && areAscending(values);
}
// Whether a number is one of so many bytes.
function isRounded(x, bytes) {
    if (bytes === 8) return true;
    if (bytes === 4) return Math.fround(x) === x;
    const exponent = Math.max(-14, Math.floor(Math.log2(Math.abs(x) || 1)));
    return Math.abs(x) <= 65504 && Number.isInteger(x / 2 ** (exponent - 10));
}

function areAscending(values) {
    return values.every((value, n) => n === 0 || isBefore(values[n - 1], value));
}
/** Whether a label is less than another; strings by their code points, as in Python. */
export function isBefore(a, b) {
    if (typeof a !== "string") return a < b;
    const one = [...a], other = [...b], n = one.findIndex((c, k) => c !== other[k]);
    if (n < 0) return one.length < other.length;
    return n < other.length && one[n].codePointAt(0) < other[n].codePointAt(0);
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

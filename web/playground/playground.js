// The playground: streams of points, a PocketClassifier and a linear model that learn them, and what can be seen of it.
import { isBefore } from "../package/model_file.js";
import { init, parseBytes, PocketClassifier } from "../package/pocketkernel.js";
import { STREAMS, random } from "./streams.js";

const CELLS = 60; // of the surface, along each side
const REACH = 1.6; // coordinates go from -REACH to REACH
const WINDOW = 200; // rows of the recent mistakes
const LONGEST = 1200; // points of the chart, and the longest history
const SPEEDS = [10, 30, 100, 300, 1000, 3000, 10000];
const SHOWN = 250; // points that stay visible
const SIZES = 10; // of memory, from 2 KiB on, each twice the one before
const LARGEST = 1e36; // that a model takes
const MOST_VALUES = 1 << 16; // that are learned at once
const FRAME = 6; // milliseconds of a frame in which to learn and to score: drawing takes as long again

const $ = (id) => document.getElementById(id);
const state = { playing: true, failed: false, owed: 0, flipped: 0, points: [], drawn: [], pen: 0, table: null, offered: null, sizes: [], frames: [] };
let colours = [], ink = "#000", grey = "#888", accent = "#00f", line = "#ccc", card = "#fff";

// ---- models ------------------------------------------------------------------------------------------------------------

const memoryOf = (step) => 1024 * 2 ** Number(step);
const kib = (bytes) => (bytes >= 1 << 20 ? `${bytes / (1 << 20)} MiB` : `${bytes / 1024} KiB`);

// The chosen stream, from its beginning.
function source() {
    const name = $("stream").value;
    if (name === "csv") return state.table.open();
    if (name === "draw") return { classes: 3, columns: 2, next: drawnPoint(random(11)) };
    return STREAMS[name](random(7));
}

// Points that were drawn, again and again, with noise.
const drawnPoint = (r) => () => {
    if (state.drawn.length === 0) return null;
    const [x, y, label] = state.drawn[Math.floor(r() * state.drawn.length)];
    const noise = () => (r() + r() - 1) * 0.08;
    return { row: [x + noise(), y + noise()], label };
};

// A model of the least size from this step on that has room for the stream.
function fitting({ columns, classes, labels }, step, linear = false) {
    for (; ; ++step) {
        try {
            const memory = kib(memoryOf(step)).replace(" ", "");
            return new PocketClassifier({ features: columns, classes: labels ?? classes, memory, linear });
        } catch (error) {
            if (step === 16) throw error;
        }
    }
}

function start() {
    const stream = source(), wanted = memoryOf($("memory").value);
    const model = fitting(stream, Number($("memory").value)), linear = fitting(stream, 6, true);
    model.featureNames = stream.names ?? null;
    Object.assign(state, { source: stream, model, linear, flipped: 0, ended: false, cell: 0 });
    play(state.playing || state.failed);
    state.shade = new Uint8ClampedArray(4 * CELLS * CELLS);
    forget();
    $("drawing").hidden = $("stream").value !== "draw";
    if ($("stream").value === "csv") offerLabels(state.table.file, state.table.chosen);
    else $("labels").hidden = true;
    const { columns, classes } = stream, used = promisedBy(model);
    if (used > wanted) say(`${kib(wanted)} is too little for ${columns} columns and ${classes} classes: this is ${kib(used)}.`);
    else if ($("stream").value === "draw" && state.drawn.length === 0) say("Draw points with a finger or the mouse: they are the stream.");
    else say("");
    showBytes();
}

// Mistakes are counted from here on.
function forget() {
    Object.assign(state, { points: [], owed: 0, history: { ours: tally(), linear: tally(), chart: [], flips: [], every: 1 } });
}

function tally() {
    return { ring: new Uint8Array(WINDOW), recent: 0, mistakes: 0, rows: 0 };
}
function count(tally, mistake) {
    const at = tally.rows % WINDOW;
    tally.recent += mistake - tally.ring[at];
    tally.ring[at] = mistake;
    tally.mistakes += mistake;
    tally.rows += 1;
}
const recent = (tally) => tally.recent / Math.max(1, Math.min(tally.rows, WINDOW));

// Learns up to so many rows, in blocks, until the time is over. Answers how many.
function learn(rows, until) {
    let done = 0;
    while (done < rows && !state.ended && (done === 0 || performance.now() < until)) {
        const block = Math.max(1, Math.min(rows - done, 16, Math.floor(MOST_VALUES / state.source.columns)));
        const values = [], labels = [];
        while (labels.length < block) {
            const point = state.source.next();
            if (!point) {
                state.ended = $("stream").value === "csv";
                if (state.ended) say(`${$("note").textContent} All rows are learned: download the model, or start again.`.trim());
                break;
            }
            const classes = state.model.classes;
            const label = (point.label + state.flipped) % classes;
            for (const value of point.row) values.push(value);
            labels.push(label);
            state.points.push([point.row[0], point.row[1] ?? 0, label]);
        }
        if (labels.length === 0) break;
        const ours = state.model.learnMany(values, labels), linear = state.linear.learnMany(values, labels);
        labels.forEach((label, n) => {
            count(state.history.ours, Number(ours[n] !== label));
            count(state.history.linear, Number(linear[n] !== label));
            note();
        });
        done += labels.length;
    }
    state.points.splice(0, Math.max(0, state.points.length - SHOWN));
    return done;
}

// A point of the chart; if there are too many, every second one is dropped.
function note() {
    const { ours, linear, chart } = state.history;
    if (ours.rows < 20 || ours.rows % state.history.every) return;
    chart.push([ours.rows, recent(ours), recent(linear)]);
    if (chart.length < LONGEST) return;
    state.history.every *= 2;
    state.history.chart = chart.filter(([rows]) => rows % state.history.every === 0);
}

// ---- the surface -------------------------------------------------------------------------------------------------------

// Colours some more cells, from where it stopped, until the time is over.
function shade(until) {
    if (state.source.columns !== 2) return;
    const { classes } = state.model;
    const { low, high } = state.source.box ?? { low: [-REACH, -REACH], high: [REACH, REACH] };
    do {
        const rows = new Float64Array(2 * CELLS);
        const y = high[1] - ((state.cell + 0.5) / CELLS) * (high[1] - low[1]);
        for (let n = 0; n < CELLS; ++n) {
            rows[2 * n] = low[0] + ((n + 0.5) / CELLS) * (high[0] - low[0]);
            rows[2 * n + 1] = y;
        }
        const scores = state.model.scoreMany(rows, CELLS);
        for (let n = 0; n < CELLS; ++n) {
            const own = scores.subarray(n * classes, (n + 1) * classes);
            let best = 0, total = 0;
            for (let c = 1; c < classes; ++c) if (own[c] >= own[best]) best = c;
            for (let c = 0; c < classes; ++c) total += Math.exp(own[c] - own[best]);
            const sure = (1 / total - 1 / classes) / (1 - 1 / classes);
            state.shade.set([...colours[best], 40 + 130 * sure], 4 * (state.cell * CELLS + n));
        }
        state.cell = (state.cell + 1) % CELLS;
    } while (performance.now() < until && state.cell !== 0);
}

const small = document.createElement("canvas");
small.width = small.height = CELLS;

// As many pixels as the screen has for a canvas, so that points and text are sharp.
function sharpen(canvas, heightToWidth) {
    const scale = Math.min(2, devicePixelRatio);
    new ResizeObserver(() => {
        const width = Math.max(1, Math.round(canvas.clientWidth * scale));
        if (canvas.width !== width) Object.assign(canvas, { width, height: Math.round(width * heightToWidth) });
    }).observe(canvas);
}

function draw() {
    const canvas = $("surface"), pen = canvas.getContext("2d");
    const size = canvas.width;
    pen.fillStyle = card;
    pen.fillRect(0, 0, size, size);
    if (state.failed) return;
    if (state.source.columns === 2) {
        small.getContext("2d").putImageData(new ImageData(state.shade, CELLS, CELLS), 0, 0);
        pen.imageSmoothingEnabled = true;
        pen.drawImage(small, 0, 0, size, size);
    }
    const { low, high } = state.source.box ?? { low: [-REACH, -REACH], high: [REACH, REACH] };
    const place = (x, y) => [((x - low[0]) / (high[0] - low[0])) * size, ((high[1] - y) / (high[1] - low[1])) * size];
    const radius = size / 110;
    pen.lineWidth = size / 480;
    const dot = (x, y, label, alpha) => {
        pen.globalAlpha = alpha;
        pen.fillStyle = `rgb(${colours[label % colours.length]})`;
        pen.strokeStyle = card;
        pen.beginPath();
        pen.arc(...place(x, y), radius, 0, 7);
        pen.fill();
        pen.stroke();
    };
    if ($("stream").value === "draw") for (const [x, y, label] of state.drawn) dot(x, y, label, 0.35);
    state.points.forEach(([x, y, label], n) => dot(x, y, label, 0.15 + (0.85 * (n + 1)) / state.points.length));
    pen.globalAlpha = 1;
}

function drawChart() {
    const canvas = $("mistakes"), pen = canvas.getContext("2d"), { width, height } = canvas;
    const { chart, flips, ours } = state.history;
    const unit = width / (canvas.clientWidth || width); // pixels of the canvas for one of the page
    const left = 36 * unit, bottom = 20 * unit, top = 8 * unit;
    const most = Math.ceil(10 * chart.reduce((a, [, b, c]) => Math.max(a, b, c), 0.2)) / 10;
    const x = (rows) => left + (rows / Math.max(ours.rows, 1)) * (width - left - 3 * unit);
    const y = (share) => top + (1 - share / most) * (height - top - bottom);
    pen.clearRect(0, 0, width, height);
    if (state.failed) return;
    pen.font = `${13 * unit}px system-ui, sans-serif`;
    pen.lineWidth = unit;
    for (const share of [0, most / 2, most]) {
        pen.strokeStyle = line;
        pen.beginPath();
        pen.moveTo(left, y(share));
        pen.lineTo(width, y(share));
        pen.stroke();
        pen.fillStyle = grey;
        pen.textAlign = "left";
        pen.fillText(`${Math.round(100 * share)}%`, 0, y(share) + 5 * unit);
    }
    pen.textAlign = "right";
    pen.fillText(`${ours.rows.toLocaleString("en")} rows`, width - 3 * unit, height - 4 * unit);
    pen.strokeStyle = ink;
    pen.setLineDash([4 * unit, 4 * unit]);
    for (const rows of flips) {
        pen.beginPath();
        pen.moveTo(x(rows), top);
        pen.lineTo(x(rows), height - bottom);
        pen.stroke();
    }
    pen.setLineDash([]);
    pen.lineWidth = 2 * unit;
    pen.lineJoin = "round";
    for (const [column, colour] of [[2, grey], [1, accent]]) {
        pen.strokeStyle = colour;
        pen.beginPath();
        chart.forEach((point, n) => (n ? pen.lineTo(x(point[0]), y(point[column])) : pen.moveTo(x(point[0]), y(point[column]))));
        pen.stroke();
    }
}

// ---- numbers -----------------------------------------------------------------------------------------------------------

const percent = (share) => `${(100 * share).toFixed(1)}%`;
function say(text) {
    $("note").textContent = text;
    $("note").classList.remove("error");
}

// What went wrong, in the place of everything that was drawn of a stream, which waits.
function fail(error) {
    play(false);
    say(`${error.message} "Play" goes on with the stream before.`);
    $("note").classList.add("error");
    state.failed = true;
    show();
}
function play(playing) {
    Object.assign(state, { playing, failed: false });
    $("play").textContent = playing ? "Pause" : "Play";
}

function show() {
    draw();
    drawChart();
    showNumbers();
    showBytes();
    showSizes();
}

function showNumbers() {
    const { ours, linear } = state.history;
    if (state.failed) {
        for (const id of ["recent", "total", "linear-recent", "linear-total", "time"]) $(id).textContent = "";
        $("rows").textContent = "0";
        return bars($("weights"), []);
    }
    $("recent").textContent = percent(recent(ours));
    $("total").textContent = percent(ours.mistakes / Math.max(1, ours.rows));
    $("linear-recent").textContent = percent(recent(linear));
    $("linear-total").textContent = percent(linear.mistakes / Math.max(1, linear.rows));
    $("rows").textContent = ours.rows.toLocaleString("en");
    const times = state.frames;
    $("time").textContent = times.length ? `, ${(times.reduce((a, b) => a + b) / times.length).toFixed(1)} ms of computation per frame` : "";
    const { weights } = state.model.report();
    bars($("weights"), state.model.experts.map((name, i) => [name, weights[i], percent(weights[i])]));
}
// Bytes that a model may use, in the words of Python if it comes from there.
function promisedBy(model) {
    try {
        return parseBytes(model.memory);
    } catch {
        return model.nbytes;
    }
}
function showBytes() {
    const { nbytes, budget } = state.model, promised = promisedBy(state.model);
    if (state.failed) return ($("bytes-bar").style.width = 0), ($("bytes").textContent = "");
    $("bytes-bar").style.width = `${Math.min(100, (100 * nbytes) / promised)}%`;
    $("bytes").textContent = `${nbytes.toLocaleString("en")} of ${promised.toLocaleString("en")} bytes, constant from the first row on; ${budget.toLocaleString("en")} frequencies`;
}

function bars(box, items) {
    while (box.children.length > items.length) box.lastChild.remove();
    items.forEach(([name, share, text], n) => {
        let bar = box.children[n];
        if (!bar) {
            bar = box.appendChild(document.createElement("div"));
            bar.className = "bar";
            bar.innerHTML = '<span></span><div class="meter"><div></div></div><span></span>';
        }
        bar.children[0].textContent = name;
        bar.children[1].firstChild.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
        bar.children[2].textContent = text;
    });
}

// ---- what memory buys --------------------------------------------------------------------------------------------------

// Learns 2,000 rows with every size, a few at a time between frames.
async function compare() {
    const button = $("compare");
    if ($("stream").value === "draw" && state.drawn.length === 0) return say("Draw some points first.");
    button.disabled = true;
    try {
        await compareSizes();
    } finally {
        button.disabled = false;
    }
}
async function compareSizes() {
    const name = $("stream").value, stream = source(), table = state.table;
    const rows = [], labels = [];
    while (labels.length < 2000) {
        const point = stream.next();
        if (!point) break;
        rows.push(point.row);
        labels.push(point.label);
    }
    noSizes();
    for (let step = 1; step <= SIZES; ++step) {
        let model;
        try {
            model = new PocketClassifier({ features: stream.columns, classes: stream.classes, memory: memoryOf(step) });
        } catch {
            state.sizes.push([kib(memoryOf(step)), 0, "no room"]); // for so many columns
            continue;
        }
        let mistakes = 0;
        const block = Math.max(1, Math.min(50, Math.floor(MOST_VALUES / stream.columns)));
        for (let first = 0; first < labels.length; first += block) {
            const some = labels.slice(first, first + block);
            const guesses = model.learnMany(rows.slice(first, first + block).flat(), some);
            some.forEach((label, n) => (mistakes += guesses[n] !== label));
            if (first % 500 < block) await new Promise((done) => setTimeout(done));
        }
        if ($("stream").value !== name || state.table !== table) break; // what was found is about another stream
        state.sizes.push([kib(memoryOf(step)), mistakes / labels.length, percent(mistakes / labels.length)]);
        showSizes();
    }
}

function showSizes() {
    const most = Math.max(1e-9, ...state.sizes.map(([, share]) => share));
    const names = Array.from({ length: SIZES }, (_, n) => [kib(memoryOf(n + 1)), 0, ""]);
    bars($("sizes"), names.map((none, n) => (state.failed ? none : state.sizes[n] ?? none)).map(([name, share, text]) => [name, share / most, text]));
}
function noSizes() {
    state.sizes = [];
    showSizes();
}

// ---- files -------------------------------------------------------------------------------------------------------------

const LABELS = ["label", "y", "target", "class"]; // usual names of the column with them, as in Python
const MOST_CLASSES_SHOWN = 50;
const QUANTITY = { fractions: 10, integers: 100, few: 20 }; // most different numbers that are classes, as in Python
const LISTED = 500; // columns that can be chosen as the label

const isNumber = (cell) => cell !== "" && !Number.isNaN(Number(cell));

// Cells of a line; a delimiter within quotes divides nothing.
function cellsOf(line, delimiter) {
    if (!line.includes('"')) return line.split(delimiter).map((cell) => cell.trim());
    const cells = [];
    let cell = "", quoted = false;
    for (let n = 0; n < line.length; ++n) {
        const sign = line[n];
        if (sign === '"' && quoted && line[n + 1] === '"') cell += line[++n];
        else if (sign === '"' && (quoted || cell.trim() === "")) quoted = !quoted;
        else if (sign === delimiter && !quoted) {
            cells.push(cell.trim());
            cell = "";
        } else cell += sign;
    }
    return [...cells, cell.trim()];
}

// The lines of a table as cells, and the names of its columns.
function readFile(text) {
    const lines = text.replace(/^\ufeff/, "").split(/\r?\n/).filter((one) => one.trim());
    if (lines.length < 2) throw new Error("The file has no rows.");
    const delimiter = [",", ";", "\t"].reduce((a, b) => (cellsOf(lines[0], a).length >= cellsOf(lines[0], b).length ? a : b));
    const cells = lines.map((one) => cellsOf(one, delimiter)), header = !cells[0].some(isNumber);
    const names = cells[0].map((name, k) => (header && name) || `column ${k + 1}`);
    const usual = names.findIndex((name) => LABELS.includes(name.toLowerCase()));
    return { names, header, given: header ? cells.slice(1) : cells, label: header && usual >= 0 ? usual : names.length - 1 };
}

// Whether the labels are quantities and no classes.
function areQuantities(labels) {
    const values = [...new Set(labels)];
    if (!values.every(isNumber)) return false;
    if (!values.every((value) => Number.isInteger(Number(value)))) return values.length > QUANTITY.fractions;
    return values.length > QUANTITY.integers || (values.length > QUANTITY.few && values.length > labels.length / 2);
}

// Names of the quarters of quantities, and the number of the one that a quantity is in.
function quarters(values) {
    const sorted = [...values].sort((a, b) => a - b), at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
    const ends = [...new Set([at(0.25), at(0.5), at(0.75)])].filter((end) => end < sorted.at(-1));
    if (ends.length === 0) ends.push(sorted.findLast((value) => value < sorted.at(-1))); // most are the largest one
    const short = (value) => String(Number(value.toPrecision(4)));
    const names = ends.map((end, n) => `${n + 1}: ${n ? `${short(ends[n - 1])} to` : "up to"} ${short(end)}`);
    return { names: [...names, `${ends.length + 1}: above ${short(ends.at(-1))}`], of: (value) => ends.filter((end) => value > end).length };
}

// The columns of numbers, and the labels in the chosen column; other columns are left out, and so are rows that have
// other cells, no label, or a number that no model takes.
function tableOf(file, chosen) {
    const { names, given } = file, others = names.map((_, k) => k).filter((k) => k !== chosen);
    const whole = given.filter((row) => row.length === names.length), labelled = whole.filter((row) => row[chosen] !== "");
    const first = labelled.slice(0, 200);
    const columns = others.filter((k) => first.every((row) => row[k] === "" || isNumber(row[k])) && labelled.some((row) => isNumber(row[k])));
    if (columns.length === 0) throw new Error(`The file has no columns of numbers besides ${names[chosen]}, which has the labels.`);
    const numbers = (row) => columns.map((k) => (row[k] === "" ? NaN : Number(row[k])));
    const usable = labelled.filter((row) => columns.every((k) => row[k] === "" || Math.abs(Number(row[k])) <= LARGEST));
    const asQuantities = areQuantities(usable.slice(0, 10_000).map((row) => row[chosen]));
    const body = asQuantities ? usable.filter((row) => Number.isFinite(Number(row[chosen]))) : usable;
    if (body.length < 2) throw new Error("The file has no rows that can be learned.");
    let labels, classOf;
    if (asQuantities) {
        const parts = quarters(body.map((row) => Number(row[chosen])));
        [labels, classOf] = [parts.names, (label) => parts.of(Number(label))];
    } else {
        const texts = [...new Set(body.map((row) => row[chosen]))].sort((a, b) => (isBefore(a, b) ? -1 : 1));
        const areWhole = texts.every((name) => Number.isSafeInteger(Number(name)) && String(Number(name)) === name); // as in Python
        labels = areWhole ? texts.map(Number).sort((a, b) => a - b) : texts;
        const places = new Map(labels.map((label, c) => [String(label), c]));
        classOf = (label) => places.get(label);
    }
    if (labels.length < 2 || labels.length > MOST_CLASSES_SHOWN)
        throw new Error(`The column ${names[chosen]} has ${labels.length} different labels: 2 to ${MOST_CLASSES_SHOWN} are possible. Choose another label.`);
    const rows = body.map(numbers);
    const bounds = [0, Math.min(1, columns.length - 1)].map((k) => {
        const values = rows.map((row) => row[k]).filter((value) => !Number.isNaN(value));
        const least = values.reduce((a, b) => Math.min(a, b), Infinity), most = values.reduce((a, b) => Math.max(a, b), -Infinity);
        if (values.length === 0) return [-1, 1]; // the rows with its numbers are left out
        const more = (most - least || Math.abs(most) || 1) * 0.05;
        return [Math.max(-LARGEST, least - more), Math.min(LARGEST, most + more)];
    });
    const about = {
        columns: columns.length, classes: labels.length, labels,
        names: file.header ? columns.map((k) => names[k]) : null,
        box: { low: bounds.map(([a]) => a), high: bounds.map(([, b]) => b) },
    };
    const open = () => {
        let at = 0;
        return { ...about, next: () => (at < rows.length ? { row: rows[at], label: classOf(body[at++][chosen]) } : null) };
    };
    const kept = new Set(columns);
    const without = {
        columns: others.filter((k) => !kept.has(k)).map((k) => names[k]),
        rows: [
            [given.length - whole.length, "with another number of cells"],
            [whole.length - labelled.length + usable.length - body.length, "without a label"],
            [labelled.length - usable.length, "with text or too large a number among the numbers"],
        ].filter(([n]) => n),
    };
    return { ...about, file, chosen, asQuantities, count: rows.length, without, open };
}

// The columns of a file, of which one has the labels.
function offerLabels(file, chosen) {
    const offered = file.names.map((name, k) => [name, k]), few = offered.length > LISTED ? [...offered.slice(0, LISTED), offered.at(-1)] : offered;
    $("label").replaceChildren(...few.map(([name, k]) => new Option(name, k, false, k === chosen)));
    $("labels").hidden = false;
    state.offered = file;
}

function useTable(text) {
    $("labels").hidden = true; // until it is known what the file has
    const file = readFile(text);
    offerLabels(file, file.label);
    useLabel(file, file.label);
}

// What the chosen column's labels make of a file; an error leaves the choice open.
function useLabel(file, chosen) {
    const table = tableOf(file, chosen);
    fitting(table, 1); // raises the error of a table that no model has room for
    state.table = table;
    const option = $("stream").querySelector('[value="csv"]');
    option.hidden = false;
    $("stream").value = "csv";
    noSizes();
    start();
    const { count, columns, classes, without } = table;
    const some = without.columns.slice(0, 5).join(", ") + (without.columns.length > 5 ? `, and ${without.columns.length - 5} more` : "");
    const left = [
        without.columns.length && `${many(without.columns.length, "column")} without numbers (${some})`,
        ...without.rows.map(([n, why]) => `${many(n, "row")} ${why}`),
    ].filter(Boolean);
    const notes = [
        table.asQuantities && `${file.names[chosen]} has many different numbers: what is learned here is in which quarter of them a row is; "pocketkernel run" predicts the numbers.`,
        left.length && `Left out: ${left.join("; ")}.`,
        columns > 2 && "The picture shows the first two columns.",
        $("note").textContent,
    ];
    say([`${many(count, "row")}, ${many(columns, "column")}, ${classes} classes.`, ...notes].filter(Boolean).join(" "));
}
const many = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function download(bytes, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function useModel(bytes) {
    const model = PocketClassifier.load(bytes);
    if (model.features !== state.source.columns || model.classes !== state.model.classes)
        throw new Error(`The model has ${model.features} columns and ${model.classes} classes, this stream ${state.source.columns} and ${state.model.classes}.`);
    if (state.ended) Object.assign(state, { source: source(), ended: false });
    state.model = model;
    forget();
    showBytes();
    say(`The model has learned ${model.report().rows.toLocaleString("en")} rows before, and goes on here.`);
}

// ---- page --------------------------------------------------------------------------------------------------------------

function readColours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    colours = [0, 1, 2, 3, 4].map((n) => parts(value(`--c${n}`)));
    for (let n = 5; n < 50; ++n) colours.push(colours[n % 5].map((part) => Math.round(part * (1 - 0.12 * Math.floor(n / 5)) + 128 * 0.12 * Math.floor(n / 5)) & 255));
    [ink, grey, accent, line, card] = ["--ink", "--grey", "--accent", "--line", "--card"].map(value);
}

let last = 0, frame = 0;
function tick(now) {
    requestAnimationFrame(tick); // whatever happens
    try {
        step(now);
    } catch (error) {
        fail(error);
    }
}
function step(now) {
    const begin = performance.now(), seconds = Math.min(0.1, (now - last) / 1000);
    last = now;
    if (state.failed) return draw();
    if (state.playing) {
        state.owed = Math.min(state.owed + seconds * SPEEDS[$("speed").value], SPEEDS[$("speed").value] / 4 + 1);
        state.owed -= learn(Math.floor(state.owed), begin + FRAME / 2);
    }
    shade(begin + FRAME);
    draw();
    if (++frame % 6 === 0) {
        drawChart();
        showNumbers();
    }
    state.frames.push(performance.now() - begin);
    if (state.frames.length > 60) state.frames.shift();
}

function listen() {
    const on = (id, event, act) =>
        $(id).addEventListener(event, async () => {
            try {
                await act($(id));
            } catch (error) {
                fail(error);
            }
        });
    on("stream", "change", () => {
        noSizes();
        start();
    });
    on("memory", "input", () => {
        $("memory-text").textContent = kib(memoryOf($("memory").value));
        start();
    });
    on("speed", "input", () => ($("speed-text").textContent = SPEEDS[$("speed").value].toLocaleString("en")));
    on("play", "click", () => {
        if (state.failed) {
            say("");
            if ($("stream").value === "csv") offerLabels(state.table.file, state.table.chosen); // of the stream that goes on
            else $("labels").hidden = true;
        }
        play(!state.playing);
        show();
    });
    on("flip", "click", () => {
        state.flipped += 1;
        state.history.flips.push(state.history.ours.rows);
    });
    on("restart", "click", start);
    on("compare", "click", compare);
    on("save", "click", () => download(state.model.save(), "model.pk"));
    const file = (id, use) =>
        on(id, "change", async (control) => {
            const [chosen] = control.files;
            control.value = "";
            if (chosen) await use(chosen);
        });
    file("csv", async (chosen) => useTable(await chosen.text()));
    on("label", "change", (control) => useLabel(state.offered, Number(control.value)));
    file("load", async (chosen) => useModel(await chosen.arrayBuffer()));
    const canvas = $("surface");
    const add = (event) => {
        if ($("stream").value !== "draw" || (event.type === "pointermove" && event.buttons === 0)) return;
        const box = canvas.getBoundingClientRect();
        const x = ((event.clientX - box.left) / box.width) * 2 * REACH - REACH;
        const y = REACH - ((event.clientY - box.top) / box.height) * 2 * REACH;
        state.drawn.push([x, y, state.pen]);
        if (!state.failed) say("");
    };
    canvas.addEventListener("pointerdown", add);
    canvas.addEventListener("pointermove", add);
    const pens = [0, 1, 2].map((label) => {
        const pen = $("pens").appendChild(document.createElement("button"));
        pen.className = "pen";
        pen.textContent = "ABC"[label];
        pen.style.setProperty("--pen", `var(--c${label})`);
        pen.style.borderColor = `var(--c${label})`;
        pen.addEventListener("click", () => choose(label));
        return pen;
    });
    const choose = (label) => {
        state.pen = label;
        pens.forEach((pen, n) => pen.setAttribute("aria-pressed", String(n === label)));
    };
    choose(0);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
}

/** Start the page, with the module's bytes. */
export async function run(bytes) {
    await init(bytes);
    document.documentElement.classList.toggle("embedded", window !== window.top); // in a page with a title of its own
    readColours();
    sharpen($("surface"), 1);
    sharpen($("mistakes"), 0.42);
    listen();
    noSizes();
    start();
    requestAnimationFrame(tick);
    globalThis.playground = { state, useTable, useModel, SPEEDS };
}

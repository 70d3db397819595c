// Streams of points in the plane, in [-1.6, 1.6] each way, without end.

/** Random numbers in [0, 1) from a seed (mulberry32). */
export function random(seed) {
    let a = seed >>> 0;
    return () => {
        a = (a + 0x6d2b79f5) >>> 0;
        let t = Math.imul(a ^ (a >>> 15), a | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
}

const normal = (r) => Math.sqrt(-2 * Math.log(1 - r())) * Math.cos(2 * Math.PI * r());
const plane = (classes, next) => ({ columns: 2, classes, next });

export const STREAMS = {
    moons: (r) =>
        plane(2, () => {
            const label = Number(r() < 0.5), angle = Math.PI * r();
            const [x, y] = label ? [1 - Math.cos(angle), 0.5 - Math.sin(angle)] : [Math.cos(angle), Math.sin(angle)];
            return { row: [0.9 * (x - 0.5) + 0.11 * normal(r), 0.9 * (y - 0.25) + 0.11 * normal(r)], label };
        }),
    rings: (r) =>
        plane(2, () => {
            const label = Number(r() < 0.5), radius = (label ? 1.15 : 0.55) + 0.11 * normal(r), angle = 2 * Math.PI * r();
            return { row: [radius * Math.cos(angle), radius * Math.sin(angle)], label };
        }),
    xor: (r) =>
        plane(2, () => {
            const x = 2.8 * r() - 1.4, y = 2.8 * r() - 1.4;
            return { row: [x, y], label: Number(x * y > 0) };
        }),
    spiral: (r) =>
        plane(2, () => {
            const label = Number(r() < 0.5), t = 0.15 + 0.85 * Math.sqrt(r()), angle = 3.2 * Math.PI * t + Math.PI * label;
            return { row: [1.35 * t * Math.cos(angle) + 0.03 * normal(r), 1.35 * t * Math.sin(angle) + 0.03 * normal(r)], label };
        }),
    drifting: (r) => {
        let rows = 0;
        return plane(2, () => {
            const turn = (2 * Math.PI * ++rows) / 6000, label = Number(r() < 0.5);
            const centre = turn + Math.PI * label + (r() < 0.5 ? 0 : 2 * Math.PI / 3);
            return { row: [0.95 * Math.cos(centre) + 0.2 * normal(r), 0.95 * Math.sin(centre) + 0.2 * normal(r)], label };
        });
    },
    multi: (r) =>
        plane(5, () => {
            const label = Math.floor(5 * r());
            if (label === 4) return { row: [0.22 * normal(r), 0.22 * normal(r)], label };
            const angle = (Math.PI / 2) * label + 0.45 * normal(r), radius = 1.0 + 0.13 * normal(r);
            return { row: [radius * Math.cos(angle), radius * Math.sin(angle)], label };
        }),
};

// The burn-down of an account, drawn by uPlot from the API's history.
"use strict";
(async () => {
  const place = document.getElementById("burn-down");
  if (!place) return;
  const answer = await fetch(place.dataset.history, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const history = await answer.json();
  const number = (value) => (typeof value === "number" ? value : null);
  const times = history.points.map((point) => Date.parse(point.time) / 1000);
  const left = history.points.map((point) => 100 * (1 - point.used));
  const lost = history.points.map((point) => number(point.epsilon));
  const meter = history.meters.indexOf("epsilon");
  const spent = history.points.map((point) => (meter < 0 ? null : number(point.spent[meter])));
  const added = spent.map((value) => (value === null ? null : Math.max(0, 100 * (1 - value / history.epsilon))));
  const start = times[0] - Math.max(1, 0.02 * (times[times.length - 1] - times[0]));
  const now = Math.max(times[times.length - 1], start + 2);
  const held = (first, values) => [first, ...values, values[values.length - 1]];
  const along = [start, ...times, now + Math.max(1, 0.01 * (now - start))];
  let drawn = [];

  function draw() {
    drawn.forEach((plot) => plot.destroy());
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const step = uPlot.paths.stepped({ align: 1 });
    const solid = { stroke: colour("--accent"), width: 2, paths: step, points: { show: times.length < 60 } };
    const dashed = { stroke: colour("--second"), width: 1.5, dash: [5, 4], paths: step, points: { show: false } };
    // times as ISO 8601 writes them; the day stands below the first one
    const moments = (_, splits, _axis, _space, step) => splits.map((at, place) => {
      const said = new Date(1000 * at).toISOString();
      if (step >= 86400) return said.slice(0, 10);
      return said.slice(11, step < 60 ? 19 : 16) + (place ? "" : `\n${said.slice(0, 10)}`);
    });
    const size = () => ({ width: Math.max(260, place.clientWidth), height: 260 });
    const of = (id, series, data, scale, label) => new uPlot({
      ...size(),
      scales: { y: { range: scale } },
      axes: [{ ...axis, space: 80, values: moments }, { ...axis, size: 60, values: (_, ticks) => ticks.map(label) }],
      series: [{ label: "time (UTC)", value: (_, at) => (at ? new Date(1000 * at).toISOString().slice(0, 19).replace("T", " ") : "-") }, ...series],
      tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC"),
    }, data, document.getElementById(id));
    const percent = (_, value) => (value === null || value === undefined ? "-" : `${value.toFixed(1)} %`);
    const amount = (_, value) => (value === null || value === undefined ? "-" : value.toPrecision(4));
    drawn = [
      of("plot-left", [{ ...solid, label: "left", value: percent, fill: colour("--wash") }, { ...dashed, label: "added up", value: percent }],
        [along, held(100, left), held(100, added)], [0, 100], (tick) => `${tick} %`),
      of("plot-lost", [{ ...solid, label: "ε lost at most", value: amount }, { ...dashed, label: "added up", value: amount }],
        [along, held(0, lost), held(0, spent)], (_, low, high) => [0, Math.max(high, 1e-9) * 1.08], (tick) => String(Number(tick.toPrecision(6)))),
    ];
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 200); });
})();

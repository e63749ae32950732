// Names at the ends of a few lines: nobody has to look a colour up.
const FEW = 6, LONGEST = 30, LETTER = 6.4, GAP = 14, ROOM = 560;

// Plotly would make a link of a name with tags.
const literal = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

export function namedLines(traces) {
  return traces.filter((trace) => trace.name && trace.legendgroup && trace.mode?.includes("lines") && trace.visible !== false);
}

// How wide the margin for them must be; 0 where they would be too many, too long or in panels.
export function endLabelRoom(traces, layout, width) {
  const lines = namedLines(traces);
  const longest = Math.max(0, ...lines.map(({ legendgroup }) => legendgroup.length));
  const panels = Object.keys(layout).some((name) => name === "xaxis2");
  return panels || width < ROOM || lines.length < 2 || lines.length > FEW || longest > LONGEST ? 0 : Math.ceil(longest * LETTER) + 14;
}

// Those that would overlap are moved apart, from the top down.
export function endLabels(plot) {
  const { xaxis, yaxis } = plot._fullLayout;
  const named = new Set(namedLines(plot.data)); // Plotly gives bands names, too
  const ends = plot._fullData.filter(({ index }) => named.has(plot.data[index])).map(({ x, y, legendgroup, line }) => {
    const last = y.length - 1;
    return { x: xaxis.type === "log" ? Math.log10(x[last]) : x[last], y: yaxis.type === "log" ? Math.log10(y[last]) : y[last], place: yaxis.d2p(y[last]), text: literal(legendgroup), colour: line.color };
  });
  ends.sort((a, b) => a.place - b.place);
  let lowest = -Infinity;
  return ends.map(({ x, y, place, text, colour }) => {
    lowest = Math.max(place, lowest + GAP);
    return { x, y, text, showarrow: false, xanchor: "left", yanchor: "middle", xshift: 6, yshift: place - lowest, font: { size: 12, color: colour } };
  });
}

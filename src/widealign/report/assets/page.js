"use strict";
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Set();

  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const css = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  };

  // Plotly knows no light-dark(): each trace carries both of its colours, and the axes take the page's.
  function dressed(figure) {
    const [ink, soft, line, hair, page] = ["--ink", "--soft", "--line", "--hair", "--raised"].map(css);
    const data = figure.data.map((trace) => {
      const colour = trace.meta[dark() ? "dark" : "light"];
      const own = { ...trace, line: { ...trace.line, color: colour }, marker: { ...trace.marker, color: colour } };
      if (trace.error_y) own.error_y = { ...trace.error_y, color: colour };
      return own;
    });
    const axis = (given) => ({ ...given, color: soft, gridcolor: hair, linecolor: line, tickcolor: line, showline: true });
    const layout = {
      ...figure.layout,
      font: { family: getComputedStyle(root).getPropertyValue("--sans"), size: 12.5, color: ink },
      hoverlabel: { bgcolor: page, bordercolor: line, font: { color: ink } },
      xaxis: axis(figure.layout.xaxis),
      yaxis: axis(figure.layout.yaxis),
    };
    return { data, layout };
  }

  function draw(plot) {
    const { data, layout } = dressed(JSON.parse(plot.nextElementSibling.textContent));
    if (drawn.has(plot)) {
      // A curve that the reader has hidden stays hidden.
      data.forEach((trace, i) => { trace.visible = plot.data[i].visible ?? true; });
      Plotly.react(plot, data, layout);
    } else {
      drawn.add(plot);
      Plotly.newPlot(plot, data, layout, { displayModeBar: false, responsive: true });
    }
  }

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) { seen.unobserve(target); draw(target); }
    }
  }, { rootMargin: "800px" });

  function dress() {
    root.dataset.theme = dark() ? "dark" : "light";
    drawn.forEach(draw);
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    drawn.forEach(draw);
  });
  system.addEventListener("change", () => { delete root.dataset.theme; dress(); });
  dress();
  plots.forEach((plot) => seen.observe(plot));
})();

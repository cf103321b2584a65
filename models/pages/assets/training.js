// While a run goes on, its report can load itself again. The choice stands in the address, after #, so
// that it lives through the loading.
"use strict";
{
  const run = JSON.parse(document.getElementById("run").textContent);
  const follow = document.getElementById("follow");
  const box = follow.querySelector("input");
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    if (box.checked) timer = setTimeout(() => location.reload(), 5000);
  };
  follow.hidden = !run.running;
  box.checked = run.running && location.hash === "#follow";
  box.addEventListener("change", () => {
    history.replaceState(null, "", box.checked ? "#follow" : "#");
    wait();
  });
  wait();
}

// The view of the configuration in effect.

async function drawConfig() {
  try {
    setText($("config"), (await json("dashboard/api/config")).yaml);
  } catch (error) {
    setText($("config"), `The configuration could not be read: ${error.message}`);
  }
}

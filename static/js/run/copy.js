// Buttons that copy the YAML of a run or a study.
import { startCopyButtons } from "../clipboard.js";

startCopyButtons({ restores: 2000 });

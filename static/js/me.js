// A person's own page: a new token's secret is selected and copied, and the button goes on saying so.
import { startCopyButtons } from "./clipboard.js";

startCopyButtons({ selects: true });

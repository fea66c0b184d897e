/** Which drivers of hosted computers a figure measures: all that can be measured here, or those that `GANTRY_FIGURE_DRIVERS` names. */
const named = process.env.GANTRY_FIGURE_DRIVERS?.split(',');

/** Why the driver is not measured, or null if it is. */
export const notMeasured = (driver: string, missing: () => string | null): string | null =>
  named !== undefined && !named.includes(driver) ? 'GANTRY_FIGURE_DRIVERS does not name it' : missing();

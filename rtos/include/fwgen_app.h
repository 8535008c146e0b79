/*
 * fwgen_app.h - where an application joins the default main().
 *
 * The default main() opens the console, creates the tasks of accelerators and
 * link, calls fwgen_app_start() and starts the scheduler. An application
 * either defines this function, or brings a main() of its own that does the
 * same in its own way.
 */
#ifndef FWGEN_APP_H
#define FWGEN_APP_H

/*
 * Creates the application's tasks. Called once, before the scheduler runs; must
 * not block. The default does nothing.
 *
 * Example:
 *     static StaticTask_t task;
 *     static StackType_t stack[256];
 *
 *     void fwgen_app_start(void)
 *     {
 *         (void)xTaskCreateStatic(camera_task, "camera", 256, NULL, 2, stack,
 *                                 &task);
 *     }
 */
void fwgen_app_start(void);

#endif
